// Contract of resident values: generations, passes, failures of a device, memory over time.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "autograd/ops.hpp"
#include "device/pass.hpp"
#include "device/simulated/memory.hpp"
#include "harness/training.hpp"
#include "kernels/scale.hpp"
#include "models/mlp.hpp"
#include "nn/dropout.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "support/contract.hpp"
#include "support/observed.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// A tensor of a pass that is over.
Tensor escaped(Device device, const std::string& pass_name = "step 1") {
  Tensor tensor;
  {
    PassScope pass(pass_name);
    tensor = drawn({3}, 1, -1, 1, device);
  }
  PassScope next("step 2");
  return tensor;
}

/// The signal that ends a child process which runs `call`, or 0.
template <class Call>
int fatal_signal(Call&& call) {
  pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(RES_1_the_host_cannot_follow_an_address_of_the_simulated_device) {
  Tensor x = drawn({3}, 1, -1, 1, simulated);
  const volatile float* address = x.view<float>().data;
  int ended_by = fatal_signal([&] {
    float value = *address;
    static_cast<void>(value);
  });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  BOOST_TEST((ended_by == SIGSEGV || ended_by == 0));  // the sanitizer may report and exit by itself
#else
  BOOST_TEST(ended_by == SIGSEGV);
#endif
  BOOST_TEST(*simulated_memory::on_host(const_cast<const float*>(address)) == x.read<float>()[0]);
}

CONTRACT(RES_1_a_buffer_travels_with_the_generation_of_its_pool) {
  static_assert(!std::is_constructible_v<DeviceBuffer, std::byte*>, "no buffer from a bare address");
  Pool pool(device, "pool under test");
  pool.next_generation();
  Block block(pool, 64);
  BOOST_TEST(block.pool == &pool);
  BOOST_TEST(block.generation == pool.generation());
  pool.next_generation();
  BOOST_TEST(block.generation + 1 == pool.generation(), "the generation is that of the buffer's birth");
}

CONTRACT(RES_2_a_buffer_of_an_older_generation_is_refused_even_when_its_address_is_valid_again) {
  Tensor old, again;
  {
    PassScope pass("step 7");
    old = drawn({5}, 1, -1, 1, device);
  }
  const std::byte* address = nullptr;
  {
    PassScope pass("step 8");
    again = drawn({5}, 2, -1, 1, device);
    address = reinterpret_cast<const std::byte*>(again.view<float>().data);
    BOOST_TEST(address != nullptr);
    for (const char* part : {"pass pool", "step 7", "generation"})
      check_refused([&] { old.read<float>(); }, "RES-8", part);
    check_refused([&] { old.write(std::vector<float>(5)); }, "RES-8");
    check_refused([&] { add(old, again); }, "RES-8");
    check_same_bits(drawn({5}, 2), again.to(cpu), "the value that has the address now");
  }
}

CONTRACT(RES_2_a_pool_that_takes_its_memory_back_refuses_what_it_gave) {
  Pool pool(device, "pool under test");
  Block block(pool, 64);
  block.require_live();
  pool.next_generation();
  for (const char* part : {"pool under test", "generation 2", "generation 1"})
    check_refused([&] { block.require_live(); }, "RES-2", part);
  Block reused(pool, 64);
  BOOST_TEST(reused.memory == block.memory, "memory is reused at once, so only the generation tells");
  reused.require_live();
}

CONTRACT(RES_3_liveness_is_judged_by_the_buffers_own_pool_also_when_counters_are_equal) {
  Pool first(device, "first pool"), second(device, "second pool");
  Block a(first, 64), b(second, 64);
  BOOST_TEST(first.generation() == second.generation());
  first.next_generation();
  check_refused([&] { a.require_live(); }, "RES-2", "first pool");
  b.require_live();
  Tensor kept = drawn({3}, 1, -1, 1, device);
  Tensor gone = escaped(device);
  check_refused([&] { gone.read<float>(); }, "RES-8");
  kept.read<float>();
}

CONTRACT(RES_4_neither_a_consumer_nor_a_read_runs_a_producer_again) {
  AccessScope counts;
  auto nodes = [&] {
    std::uint64_t total = 0;
    for (const AccessRow& row : counts.rows())
      if (row.access == Access::node) total += row.count;
    return total;
  };
  Variable x = Variable::leaf(drawn({4}, 1, -1, 1, device));
  Variable y = exp(x);
  BOOST_TEST(nodes() == 1u);
  y.value().read<float>();
  y.value().read<float>();
  BOOST_TEST(nodes() == 1u);
  Variable z = add(y, y);
  z.value().read<float>();
  BOOST_TEST(nodes() == 2u);
}

CONTRACT(RES_5_a_read_gives_what_was_asked_for_before_it_and_nothing_later) {
  Tensor x = Tensor::full({1000}, 1, device);
  for (int i = 0; i < 10; ++i) x = kernels::add(x, x);
  auto before = x.read<float>();
  x.write(std::vector<float>(1000, 3));
  BOOST_TEST(before[999] == 1024);
  BOOST_TEST(x.read<float>()[999] == 3);
}

CONTRACT(RES_6_an_operation_whose_launch_fails_returns_nothing_and_works_when_called_again) {
  Tensor a = drawn({40}, 1, -1, 1, device), b = drawn({40}, 2, -1, 1, device);
  Tensor expected = kernels::add(a, b);
  std::uint64_t version = a.version(), live = device_counters(device).live_bytes;
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::launch}) {
    FaultScope fault(device, action, 1);
    check_refused([&] { kernels::add(a, b); }, "RES-6", "fault on demand");
    BOOST_TEST(fault.fired());
    BOOST_TEST(device_counters(device).live_bytes == live);
    BOOST_TEST(a.version() == version);
    check_same_bits(expected, kernels::add(a, b), "the second call");
  }
  Tensor target = drawn({40}, 3, -1, 1, device);
  std::string before = bits_of(target);
  version = target.version();
  FaultScope fault(device, DeviceAction::launch, 1);
  check_refused([&] { kernels::copy_into(a, target); }, "RES-6", "launch of copy");
  BOOST_TEST(target.version() == version);
  BOOST_TEST(bits_of(target) == before);
}

CONTRACT(RES_7_masks_are_drawn_on_the_host_and_equal_on_every_device) {
  auto masked = [](Device where) {
    Random random(5);
    Dropout drop(0.4, random["drop"]);
    std::vector<Tensor> results;
    for (int i = 0; i < 2; ++i) results.push_back(drop.forward(Tensor::full({7, 9}, 1, where)).value().to(cpu));
    return results;
  };
  std::vector<Tensor> here = masked(device), host = masked(cpu);
  check_same_bits(host[0], here[0], "first draw");
  check_same_bits(host[1], here[1], "the draw after the layer");
}

CONTRACT(RES_8_a_value_that_escapes_its_pass_is_refused_with_the_name_of_the_pass_or_kept) {
  check_refused([&] { escaped(device, "step 41").read<float>(); }, "RES-8", "step 41");
  check_refused([&] { escaped(device, "step 41").keep(); }, "RES-8", "step 41");
  Tensor kept, view;
  {
    PassScope pass("step 1");
    kept = drawn({4, 2}, 1, -1, 1, device);
    view = kept.transpose(0, 1);
    kept.keep();
  }
  {
    PassScope pass("step 2");
    drawn({4, 2}, 9, -1, 1, device);
  }
  check_same_bits(drawn({4, 2}, 1), kept.to(cpu), "a kept value");
  check_same_bits(drawn({4, 2}, 1).transpose(0, 1), view.to(cpu), "a view of it");
}

CONTRACT(RES_8_weights_moments_and_gradients_survive_the_pass_that_made_them) {
  std::optional<Parameter> weight;
  std::optional<Sgd> sgd;
  {
    PassScope pass("step 1");
    weight.emplace(drawn({3}, 1, -1, 1, device));
    sgd.emplace(ParameterList{{"weight", weight->handle()}}, SgdOptions{.momentum = 0.9});
    sum(multiply(weight->variable(), weight->variable())).backward();
  }
  PassScope pass("step 2");
  drawn({3}, 8, -1, 1, device);
  BOOST_TEST(doubles(weight->gradient())[0] == 2 * doubles(weight->value())[0]);
  sgd->step(0.1);
  weight->value().read<float>();
}

CONTRACT(RES_8_an_inner_pass_frees_nothing) {
  PassScope outer("step");
  Tensor x = drawn({3}, 1, -1, 1, device);
  { PassScope inner("evaluation inside the step"); }
  check_same_bits(drawn({3}, 1), x.to(cpu), "a value of the outer pass");
}

CONTRACT(RES_8_each_thread_has_its_own_pass) {
  PassScope outer("step");
  Tensor x = drawn({3}, 1, -1, 1, device);
  std::thread([&] {
    PassScope other("pass of another thread");
    drawn({3}, 5, -1, 1, device);
  }).join();
  check_same_bits(drawn({3}, 1), x.to(cpu), "a value of this thread's pass");
}

CONTRACT(RES_9_an_input_computed_before_the_pass_is_usable_inside_it) {
  { PassScope earlier("earlier"); }
  Tensor normalised = kernels::scale(drawn({3}, 1, -1, 1, device), 0.5);
  Variable w = Variable::leaf(drawn({3}, 2, -1, 1, device));
  for (int step = 0; step < 3; ++step) {
    PassScope pass("step " + std::to_string(step));
    { PassScope inner("inside"); }
    sum(multiply(w, normalised)).backward();
  }
  check_same_bits(kernels::scale(normalised, 3).to(cpu), w.gradient().to(cpu), "three gradients");
}

BOOST_AUTO_TEST_CASE(RES_11_nodes_of_a_graph_are_made_in_one_place) {
  int places = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_ROOT "/src")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const bool of_variables = text.find("Variable::Variable(Tensor") != std::string::npos;
    for (const char* maker : {"make_shared<Variable::State>", "make_shared<State>()"})
      for (std::size_t at = 0; (at = text.find(maker, at)) != std::string::npos; ++at, ++places)
        BOOST_TEST(of_variables, entry.path().string() << " makes nodes");
  }
  BOOST_TEST(places == 1);
}

CONTRACT(RES_10_memory_after_many_steps_is_that_after_two_and_no_memory_is_asked_for) {
  Configuration configuration =
      parse_configuration("", "test",
                          {"data.kind=synthetic", "data.synthetic.samples=120", "data.synthetic.features=8",
                           "data.synthetic.classes=3", "model.layers=[8,7,3]", "model.dropout=0.3", "train.steps=20",
                           "train.batch=20", "train.shards=2", "run.device=" + to_string(device)});
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  for (int step = 0; step < 6; ++step) training.advance();
  DeviceCounters before = device_counters(device);
  while (training.step() < 20) {
    training.advance();
    DeviceCounters now = device_counters(device);
    BOOST_TEST(now.live_bytes == before.live_bytes);
    BOOST_TEST(now.requests == before.requests);
  }
}

CONTRACT(RES_10_building_training_and_destroying_a_model_returns_to_the_baseline) {
  std::uint64_t before = device_counters(device).live_bytes;
  for (int i = 0; i < 100; ++i) {
    Mlp model({4, 3, 2}, Activation::relu, 0.1, Random(1));
    model.to(device);
    Adam adam(model.parameters(), {});
    sum(model.forward(drawn({5, 4}, 1, -1, 1, device))).backward();
    adam.step(0.01);
  }
  BOOST_TEST(device_counters(device).live_bytes == before);
}
