// Contract of what an optimiser keeps: its state, in pages and on its device.
#include <cmath>
#include <limits>

#include "kernels/copy.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

OptimiserState copied(OptimiserState state) {
  for (NamedTensor& entry : state.tensors) entry.tensor = kernels::copy(entry.tensor);
  return state;
}

}  // namespace

CONTRACT(OPT_7_a_loaded_state_continues_with_the_same_bits) {
  for (Make make : makers) {
    Model whole(device), resumed(device);
    auto one = make(whole.list), two = make(resumed.list);
    whole.train(*one, 1, 4);
    OptimiserState state = copied(one->state());
    for (std::size_t i = 0; i < 3; ++i) resumed.made[i].set_value(whole.made[i].value());
    two->load_state(state);  // before its first step
    BOOST_TEST(two->step_count() == 3u);
    BOOST_TEST((values_and_state(*one) == values_and_state(*two)));
    whole.train(*one, 4, 7);
    resumed.train(*two, 4, 7);
    BOOST_TEST((values_and_state(*one) == values_and_state(*two)));
    BOOST_TEST(two->step_count() == 6u);
    for (const NamedTensor& entry : state.tensors)
      BOOST_TEST(entry.tensor.version() == kernels::copy(entry.tensor).version(), "a loaded state is copied");
  }
}

CONTRACT(OPT_7_state_names_are_slot_and_parameter_in_list_order) {
  Model model(device);
  Adam adam(model.list);
  std::vector<std::string> names;
  for (const NamedTensor& entry : adam.state().tensors) names.push_back(entry.name);
  BOOST_TEST(names == (std::vector<std::string>{"first_moment.p0", "first_moment.p1", "first_moment.p2",
                                                "second_moment.p0", "second_moment.p1", "second_moment.p2"}));
  BOOST_TEST(Sgd(model.list).state().tensors[2].name == "velocity.p2");
  BOOST_TEST(adam.kind() == "adam");
  BOOST_TEST(Adam(model.list, {.decoupled = true}).kind() == "adamw");
}

CONTRACT(OPT_7_a_state_that_does_not_fit_is_refused_before_anything_is_written) {
  Model source(device), target(device);
  Adam from(source.list), to(target.list);
  source.train(from, 1, 3);
  target.train(to, 11, 12);
  Facts before = facts_of(to);
  auto refused = [&](auto change, const std::string& fragment) {
    OptimiserState state = copied(from.state());
    change(state);
    check_refused([&] { to.load_state(state); }, "OPT-7", fragment);
    BOOST_TEST(before == facts_of(to), "after a refused load: " << fragment);
  };
  auto with_last = [&](const Tensor& tensor, float value) {
    std::vector<float> values(tensor.read<float>().begin(), tensor.read<float>().end());
    values.back() = value;
    return Tensor::from(values, tensor.shape(), device);
  };
  refused([](auto& s) { s.kind = "sgd"; }, "\"sgd\"");
  refused([](auto& s) { s.tensors.pop_back(); }, "expected 6, found 5");
  refused([](auto& s) { s.tensors.push_back(s.tensors[0]); }, "expected 6, found 7");
  refused([](auto& s) { std::swap(s.tensors[3], s.tensors[5]); }, "\"second_moment.p2\"");
  refused([&](auto& s) { s.tensors[4].tensor = Tensor::zeros({67, 130}, device); }, "[67, 130]");
  refused([](auto& s) { s.tensors[4].tensor = s.tensors[4].tensor.to(reference_device); }, "reference");
  refused([](auto& s) { s.tensors[4].tensor = {}; }, "no value");
  refused([&](auto& s) { s.tensors[4].tensor = Tensor::uninitialised({130, 67}, device, Dtype::int32); }, "int32");
  refused([&](auto& s) { s.tensors[1].tensor = with_last(s.tensors[1].tensor, std::nanf("")); }, "\"first_moment.p1\"");
  refused([&](auto& s) { s.tensors[4].tensor = with_last(s.tensors[4].tensor, -1); }, "below 0");
  refused([&](auto& s) { s.tensors[5].tensor = with_last(s.tensors[5].tensor, HUGE_VALF); }, "\"second_moment.p2\"");
  refused([](auto& s) { s.step_count = 0, s.beta_powers.clear(); }, "at step 0");
  to.load_state(from.state());
  BOOST_TEST(to.step_count() == 2u);
}

CONTRACT(OPT_7_the_step_count_must_agree_with_the_powers_of_the_decays) {
  Model source(device), target(device);
  Adam from(source.list, {.beta1 = 0.8}), other(target.list), same(target.list, {.beta1 = 0.8});
  source.train(from, 1, 4);
  OptimiserState state = from.state();
  BOOST_TEST(state.beta_powers == (std::vector<double>{0.8 * (0.8 * 0.8), 0.999 * (0.999 * 0.999)}));
  Facts before = facts_of(other);
  check_refused([&] { other.load_state(state); }, "OPT-7", "beta power 0 at step 3");
  ++state.step_count;
  check_refused([&] { same.load_state(state); }, "OPT-7", "beta power 0 at step 4");
  --state.step_count;
  state.beta_powers.pop_back();
  check_refused([&] { same.load_state(state); }, "OPT-7", "number of beta powers");
  BOOST_TEST(before == facts_of(other));
  same.load_state(from.state());
  BOOST_TEST(same.step_count() == 3u);
}

CONTRACT(OPT_8_moments_in_pages_of_any_size_have_the_bits_of_one_block) {
  for (bool decoupled : {false, true}) {
    AdamOptions options{.weight_decay = 0.02, .decoupled = decoupled};
    Model whole(device);
    Adam block(whole.list, options);
    whole.train(block, 1, 4);
    OptimiserState middle = copied(block.state());
    Bits at_middle = values_and_state(block);
    whole.train(block, 4, 6);
    for (std::int64_t page : {1, 67, 1000, 4096, 1 << 20}) {
      options.page = page;
      Model model(device);
      Adam paged(model.list, options);
      model.train(paged, 1, 4);
      BOOST_TEST((at_middle == values_and_state(paged)), "pages of " << page);
      OptimiserState state = paged.state();
      for (std::size_t i = 0; i < state.tensors.size(); ++i)
        BOOST_TEST(state.tensors[i].name == middle.tensors[i].name);
      paged.load_state(middle);
      model.train(paged, 4, 6);
      BOOST_TEST((values_and_state(block) == values_and_state(paged)), "pages of " << page << ", loaded");
    }
  }
}

CONTRACT(OPT_8_a_page_holds_the_rows_that_fit) {
  Model model(device);
  auto blocks = [&](std::int64_t page) {
    std::uint64_t before = device_counters(device).allocations;
    Adam optimiser(model.list, {.page = page});
    return device_counters(device).allocations - before;
  };
  // Of both moments: [33] in pages of 33, 10 and 1; 130 rows of 67 in pages of 10, 1 and 1; [] in one.
  BOOST_TEST(blocks(10 * 67) - blocks(0) == 2u * (0 + 12));
  BOOST_TEST(blocks(10) - blocks(0) == 2u * (3 + 129));
  BOOST_TEST(blocks(1) - blocks(0) == 2u * (32 + 129));
  Parameter none(Tensor::zeros({0, 3}, device)), rows(Tensor::zeros({3, 0}, device));
  Adam empty({{"none", none.handle()}, {"rows", rows.handle()}}, {.page = 2});
  none.set_gradient(Tensor::zeros({0, 3}, device));
  rows.set_gradient(Tensor::zeros({3, 0}, device));
  empty.step(0.1);
  empty.load_state(empty.state());
  BOOST_TEST(empty.step_count() == 1u);
}

CONTRACT(XFER_9_an_optimiser_whose_parameters_moved_refuses_to_step_naming_both_devices) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.train(*optimiser, 1, 2);
    move_parameters_to(model.list, reference_device);
    model.set_gradients(2);
    Facts before = facts_of(*optimiser);
    check_refused([&] { optimiser->step(0.01); }, "XFER-9",
                  "\"p0\" on " + to_string(device) + ", found it on reference");
    BOOST_TEST(before == facts_of(*optimiser));
  }
}

CONTRACT(XFER_9_an_optimiser_that_moved_with_its_parameters_goes_on_with_the_same_bits) {
  for (std::int64_t page : {0, 67})
    for (Device other : conformance::devices()) {
      Model stayed(device), moved(device);
      Adam one(stayed.list, {.page = page}), two(moved.list, {.page = page});
      auto move_to = [&](Device target) {
        two.to(target);
        move_parameters_to(moved.list, target);
      };
      stayed.train(one, 1, 6);
      moved.train(two, 1, 2);
      move_to(reference_device);
      move_to(device);
      moved.train(two, 2, 3);
      move_to(other);
      moved.train(two, 3, 5);
      move_to(device);
      moved.train(two, 5, 6);
      BOOST_TEST(two.step_count() == 5u);
      BOOST_TEST((values_and_state(one) == values_and_state(two)), "by " << to_string(other));
    }
}

CONTRACT(XFER_9_a_state_that_moved_alone_waits_for_its_parameters) {
  Model model(device);
  Adam optimiser(model.list);
  model.train(optimiser, 1, 2);
  model.set_gradients(2);
  Bits state = values_and_state(optimiser);
  std::vector<std::uint64_t> before = versions(optimiser);
  optimiser.to(device);
  BOOST_TEST(versions(optimiser) == before, "already there");
  optimiser.to(reference_device);
  BOOST_TEST((state == values_and_state(optimiser)));
  check_refused([&] { optimiser.step(0.01); }, "XFER-9", "on reference, found it on " + to_string(device));
  optimiser.to(device);
  optimiser.step(0.01);
  BOOST_TEST(optimiser.step_count() == 2u);
}
