// Contract of a step of the optimisers.
#include <cmath>
#include <limits>
#include <memory>

#include "autograd/ops.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/adam.hpp"
#include "kernels/copy.hpp"
#include "kernels/sgd.hpp"
#include "nn/linear.hpp"
#include "numerics/arithmetic.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using numerics::fma;

template <class Options>
struct Case {
  const char* name;
  Options options;
};
const Case<SgdOptions> sgd_cases[] = {
    {"sgd", {}},
    {"momentum", {.momentum = 0.9}},
    {"nesterov", {.momentum = 0.9, .nesterov = true}},
    {"momentum and decay", {.momentum = 0.7, .weight_decay = 0.03}},
};
const Case<AdamOptions> adam_cases[] = {
    {"adam", {}},
    {"adam with decay", {.beta1 = 0.8, .epsilon = 1e-6, .weight_decay = 0.03}},
    {"adamw", {.beta2 = 0.99, .weight_decay = 0.03, .decoupled = true}},
};

std::vector<float> floats(const Tensor& tensor) {
  auto values = tensor.read<float>();
  return {values.begin(), values.end()};
}

}  // namespace

CONTRACT(OPT_1_an_optimiser_refuses_lists_that_are_not_valid) {
  for (Make make : makers) {
    Parameter a(Tensor::zeros({2}, device)), b(Tensor::zeros({2}, device)), wide(Tensor::zeros({2}, reference_device)),
        nan(Tensor::full({2}, std::nan(""), device));
    check_refused([&] { make({}); }, "OPT-1", "empty list");
    check_refused([&] { make({{"", a.handle()}}); }, "OPT-1", "name");
    check_refused([&] { make({{"a", {}}}); }, "OPT-1", "\"a\"");
    check_refused([&] { make({{"a", a.handle()}, {"a", b.handle()}}); }, "OPT-1", "\"a\" twice");
    check_refused([&] { make({{"a", a.handle()}, {"b", a.handle()}}); }, "OPT-1", "\"b\"");
    check_refused(
        [&] {
          make({{"a", a.handle()}, {"wide", wide.handle()}});
        },
        "OPT-1", "\"a\" on " + to_string(device) + " and \"wide\" on reference");
    check_refused([&] { make({{"a", a.handle()}, {"nan", nan.handle()}}); }, "OPT-1", "\"nan\"");
  }
  Parameter a(Tensor::zeros({2}, device));
  ParameterList list{{"a", a.handle()}};
  check_refused([&] { Sgd made(std::vector<ParameterGroup<SgdOptions>>{{list, {}}, {{}, {}}}); }, "OPT-1", "group 1");
  check_refused(
      [&] {
        Sgd made(std::vector<ParameterGroup<SgdOptions>>{{list, {}}, {list, {}}});
      },
      "OPT-1", "\"a\" twice");
  check_refused([&] { Adam made(std::vector<ParameterGroup<AdamOptions>>{}); }, "OPT-1", "empty list");
}

CONTRACT(OPT_2_sgd_is_its_formula_bit_for_bit_and_close_to_the_oracle) {
  for (const auto& [name, options] : sgd_cases) {
    Model model(device), wide(reference_device);
    Sgd optimiser(model.list, options), oracle(wide.list, options);
    std::vector<float> w = floats(model.made[1].value()), u(w.size());
    for (std::uint64_t step = 1; step <= 5; ++step) {
      model.train(optimiser, step, step + 1);
      wide.train(oracle, step, step + 1);
      auto rate = static_cast<float>(0.01 + 0.001 * static_cast<double>(step));
      auto momentum = static_cast<float>(options.momentum), decay = static_cast<float>(options.weight_decay);
      std::vector<float> gradient = floats(model.made[1].gradient());
      for (std::size_t i = 0; i < w.size(); ++i) {
        float g = gradient[i];
        if (decay != 0) g = fma(decay, w[i], g);
        u[i] = fma(momentum, u[i], g);
        w[i] = w[i] - rate * (options.nesterov ? fma(momentum, u[i], g) : u[i]);
      }
      check_same_bits(Tensor::from(w, {130, 67}, device), model.made[1].value(), name);
      check_same_bits(Tensor::from(u, {130, 67}, device), optimiser.state().tensors[1].tensor, name);
      for (std::size_t i = 0; i < 3; ++i)
        check_close_to_oracle(wide.made[i].value(), model.made[i].value(), 4, name, 1);
    }
  }
}

CONTRACT(OPT_2_adam_and_adamw_are_their_formula_bit_for_bit_and_close_to_the_oracle) {
  for (const auto& [name, options] : adam_cases) {
    Model model(device), wide(reference_device);
    Adam optimiser(model.list, options), oracle(wide.list, options);
    std::vector<float> w = floats(model.made[1].value()), m(w.size()), v(w.size());
    for (std::uint64_t step = 1; step <= 5; ++step) {
      model.train(optimiser, step, step + 1);
      wide.train(oracle, step, step + 1);
      auto once = [](double value) { return static_cast<float>(value); };
      double eta = 0.01 + 0.001 * static_cast<double>(step);
      // β, β·β², … as repeated squaring gives them for t ≤ 5.
      auto power = [&](double b) {
        double b2 = b * b;
        return step == 1 ? b : step == 2 ? b2 : step == 3 ? b * b2 : step == 4 ? b2 * b2 : b * (b2 * b2);
      };
      float a = once(eta / (1 - power(options.beta1))), b = once(1 / std::sqrt(1 - power(options.beta2)));
      std::vector<float> gradient = floats(model.made[1].gradient());
      for (std::size_t i = 0; i < w.size(); ++i) {
        float g = gradient[i];
        if (options.decoupled) w[i] = w[i] * once(1 - eta * options.weight_decay);
        if (!options.decoupled && options.weight_decay != 0) g = fma(once(options.weight_decay), w[i], g);
        m[i] = fma(once(options.beta1), m[i], once(1 - options.beta1) * g);
        v[i] = fma(once(options.beta2), v[i], (once(1 - options.beta2) * g) * g);
        w[i] = w[i] - a * (m[i] / fma(std::sqrt(v[i]), b, once(options.epsilon)));
      }
      check_same_bits(Tensor::from(w, {130, 67}, device), model.made[1].value(), name);
      check_same_bits(Tensor::from(m, {130, 67}, device), optimiser.state().tensors[1].tensor, name);
      check_same_bits(Tensor::from(v, {130, 67}, device), optimiser.state().tensors[4].tensor, name);
      // An element whose moments nearly cancel moves by up to η either way, so the scale is that of the weights.
      for (std::size_t i = 0; i < 3; ++i)
        check_close_to_oracle(wide.made[i].value(), model.made[i].value(), 8, name, 1);
    }
  }
}

CONTRACT(OPT_2_each_group_has_the_bits_of_an_optimiser_with_its_settings) {
  Model together(device), apart(device);
  ParameterList weights{together.list[1]}, others{together.list[0], together.list[2]};
  Adam optimiser(
      {{weights, {.weight_decay = 0.1, .decoupled = true}}, {others, {.decoupled = true, .rate_factor = 0.25}}});
  Adam first({apart.list[1]}, {.weight_decay = 0.1, .decoupled = true});
  Adam second({apart.list[0], apart.list[2]}, {.decoupled = true});
  for (std::uint64_t step = 1; step < 4; ++step) {
    together.set_gradients(step);
    apart.set_gradients(step);
    optimiser.step(0.01);
    first.step(0.01);
    second.step(0.01 * 0.25);
  }
  for (std::size_t i = 0; i < 3; ++i)
    check_same_bits(apart.made[i].value(), together.made[i].value(), "parameter " + std::to_string(i));
  std::vector<std::string> names;
  for (const NamedParameter& entry : optimiser.parameters()) names.push_back(entry.name);
  BOOST_TEST(names == (std::vector<std::string>{"p1", "p0", "p2"}));

  Model sgd_together(device), sgd_apart(device);
  Sgd sgd({{{sgd_together.list[0]}, {.momentum = 0.9}}, {{sgd_together.list[1]}, {.rate_factor = 2}}});
  Sgd fast({sgd_apart.list[1]});
  sgd_together.train(sgd, 1, 2);
  sgd_apart.set_gradients(1);
  fast.step(2 * (0.01 + 0.001));
  check_same_bits(sgd_apart.made[1].value(), sgd_together.made[1].value(), "a doubled rate");
}

CONTRACT(OPT_2_hyperparameters_outside_their_range_are_refused_by_name) {
  Parameter parameter(Tensor::zeros({2}, device)), another(Tensor::zeros({2}, device));
  ParameterList list{{"p", parameter.handle()}}, rest{{"q", another.handle()}};
  auto sgd = [&](SgdOptions options, const char* name) {
    check_refused([&] { Sgd made(list, options); }, "OPT-2", name);
    check_refused([&] { Sgd made({{rest, {}}, {list, options}}); }, "OPT-2", name);
  };
  auto adam = [&](AdamOptions options, const char* name) {
    check_refused([&] { Adam made(list, options); }, "OPT-2", name);
    check_refused([&] { Adam made({{rest, {.decoupled = options.decoupled}}, {list, options}}); }, "OPT-2", name);
  };
  for (double wrong : {-0.1, 1.0, 1 - 1e-12, std::nan("")}) {
    sgd({.momentum = wrong}, "momentum of sgd");
    adam({.beta1 = wrong}, "beta1 of adam");
    adam({.beta2 = wrong, .decoupled = true}, "beta2 of adamw");
  }
  for (double wrong : {-1e-9, std::nan(""), HUGE_VAL}) {
    sgd({.weight_decay = wrong}, "weight decay");
    adam({.weight_decay = wrong}, "weight decay");
    sgd({.rate_factor = wrong}, "rate factor");
    adam({.rate_factor = wrong}, "rate factor");
  }
  for (double wrong : {0.0, -1e-8, 1e-60, 1e60, std::nan("")}) adam({.epsilon = wrong}, "epsilon");
  adam({.page = -1}, "page");
  sgd({.nesterov = true}, "nesterov");
  check_refused([&] { Adam made({{list, {}}, {rest, {.decoupled = true}}}); }, "OPT-2", "decoupled");

  Adam optimiser(list);
  parameter.set_gradient(Tensor::full({2}, 1, device));
  Facts before = facts_of(optimiser);
  for (double wrong : {-1e-3, std::nan(""), HUGE_VAL})
    check_refused([&] { optimiser.step(wrong); }, "OPT-2", "learning rate");
  BOOST_TEST(before == facts_of(optimiser));
}

CONTRACT(NUM_1_a_step_has_the_same_bits_on_any_threads) {
  for (Make make : makers) {
    Bits expected;
    for (int count : {1, 2, 3, 7}) {
      set_threads(count);
      Model model(device);
      auto optimiser = make(model.list);
      model.train(*optimiser, 1, 4);
      if (count == 1) expected = values_and_state(*optimiser);
      BOOST_TEST((expected == values_and_state(*optimiser)), count << " threads");
    }
    set_threads(1);
  }
}

CONTRACT(OPT_3_a_result_that_is_not_finite_changes_nothing_and_names_the_parameter) {
  for (Make make : makers)
    for (double bad : {std::nan(""), HUGE_VAL}) {
      Model model(device);
      auto optimiser = make(model.list);
      model.train(*optimiser, 1, 3);
      model.set_gradients(3);
      std::vector<float> values(130 * 67, 0.5f);
      values[4000] = static_cast<float>(bad);
      model.made[1].set_gradient(Tensor::from(values, {130, 67}, device));
      Facts before = facts_of(*optimiser);
      check_refused([&] { optimiser->step(0.01); }, "OPT-3", "\"p1\"");
      BOOST_TEST(before == facts_of(*optimiser));
      model.set_gradients(3);
      optimiser->step(0.01);
      BOOST_TEST(optimiser->step_count() == 3u);
    }
}

CONTRACT(OPT_3_an_overflow_of_the_update_itself_changes_nothing) {
  for (Make make : makers) {
    Parameter parameter(Tensor::full({2}, 3e38, device));
    auto optimiser = make({{"large", parameter.handle()}});
    parameter.set_gradient(Tensor::full({2}, -1, device));
    Facts before = facts_of(*optimiser);
    check_refused([&] { optimiser->step(3e38); }, "OPT-3", "\"large\"");
    BOOST_TEST(before == facts_of(*optimiser));
  }
}

CONTRACT(OPT_3_an_update_looks_at_every_tensor_before_it_writes_one) {
  auto ones = [&] { return Tensor::full({3}, 1, device); };
  Tensor wrong = Tensor::from<std::int32_t>({1, 2, 3}, {3}, device);
  std::vector<Tensor> first{ones(), ones(), ones()};
  auto unchanged = [&] {
    for (const Tensor& tensor : first) {
      check_same_bits(ones(), tensor, "a tensor of the first update");
      BOOST_TEST(tensor.version() == ones().version());
    }
  };
  kernels::Record all(device, 2);
  kernels::write_slots(all.all(), {1, 1});
  const kernels::AdamStep adam{0.1, 0.9, 0.999, 1e-8, 0, false, 1};
  const kernels::SgdStep sgd{0.1, 0.9, 0, false};
  for (int place : {0, 1, 2, 3}) {
    auto at = [&](int i) { return i == place ? wrong : ones(); };
    kernels::AdamUpdate second{at(0), {at(1)}, {at(2)}, at(3), adam};
    check_refused(
        [&] {
          kernels::adam({{first[0], {first[1]}, {first[2]}, ones(), adam}, second}, all.all());
        },
        "ACC-4", "int32");
    unchanged();
    if (place == 3) continue;
    check_refused(
        [&] {
          kernels::sgd({{first[0], first[1], ones(), sgd}, {at(0), at(1), at(2), sgd}}, all.all());
        },
        "ACC-4", "int32");
    unchanged();
  }
}

CONTRACT(OPT_3_a_pending_step_has_the_bits_of_a_step_and_counts_when_it_is_finished) {
  for (Make make : makers) {
    Model model(device), other(device);
    auto optimiser = make(model.list), plain = make(other.list);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      model.set_gradients(number);
      other.train(*plain, number, number + 1);
      const auto before = versions(*optimiser);
      const std::uint64_t downloads = device_counters(device).downloads;
      kernels::Record record(device, 3);
      Optimiser::PendingStep step(*optimiser, 0.01 + 0.001 * static_cast<double>(number), record.all());
      BOOST_TEST(device_counters(device).downloads == downloads);
      BOOST_TEST(optimiser->step_count() == number - 1);
      BOOST_TEST(versions(*optimiser) == before);
      if (number < 3) step.finish();  // the last one is left to the end of its scope
    }
    BOOST_TEST(optimiser->step_count() == 3u);
    BOOST_TEST(values_and_state(*optimiser) == values_and_state(*plain));
    BOOST_TEST(versions(*optimiser) == versions(*plain));
  }
}

CONTRACT(OPT_3_a_pending_step_whose_results_are_not_finite_changes_nothing) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.train(*optimiser, 1, 2);
    model.set_gradients(2);
    model.made[2].set_gradient(Tensor::full({}, std::numeric_limits<float>::infinity(), device));
    Facts before = facts_of(*optimiser);
    kernels::Record record(device, 3);
    Optimiser::PendingStep step(*optimiser, 0.01, record.all());
    check_refused([&] { step.finish(); }, "OPT-3", "\"p2\" not finite");
    BOOST_TEST(before == facts_of(*optimiser));
    { Optimiser::PendingStep forgotten(*optimiser, 0.01, record.all()); }
    BOOST_TEST(before == facts_of(*optimiser));
  }
}

CONTRACT(LIFE_11_an_optimiser_refuses_a_frozen_parameter_unless_it_is_to_skip_it) {
  Model model(device);
  model.made[1].freeze();
  for (Make make : makers) check_refused([&] { make(model.list); }, "LIFE-11", "\"p1\" frozen");
  Adam skipping(model.list, {.skip_frozen = true});
  Facts before = facts_of({model.list[1]});
  model.set_gradients(1);
  model.made[1].zero_gradient();
  skipping.step(0.01);
  BOOST_TEST(before == facts_of({model.list[1]}));
  model.made[1].unfreeze();
  model.set_gradients(2);
  skipping.step(0.01);
  BOOST_TEST(before != facts_of({model.list[1]}));

  Sgd trained({model.list[0]}, {});
  model.set_gradients(3);
  model.made[0].freeze();
  before = facts_of(trained);
  check_refused([&] { trained.step(0.01); }, "LIFE-11", "step of sgd");
  BOOST_TEST(before == facts_of(trained));
  Sgd skips({model.list[0]}, {.skip_frozen = true});  // its gradient is from before it was frozen
  before = facts_of({model.list[0]});
  skips.step(0.01);
  BOOST_TEST(before == facts_of({model.list[0]}));
}

CONTRACT(OPT_3_adam_judges_each_element_by_the_results_that_it_would_write) {
  constexpr float most = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0,         1e-30f,   -1,   0x1p59f, -0x1p60f, 0x1p61f,      0x1p99f,
                                  -0x1p100f, 0x1p101f, most, -most,   inf,      std::nanf("")};
  const std::vector<kernels::AdamStep> steps{{1e-3, 0.9, 0.999, 1e-8, 0.01, true, 3},
                                             {1e-3, 0.9, 0.999, 1e-8, 0.01, false, 3},
                                             {1e30, 0.9, 0.999, 1e-8, 0, true, 1},
                                             {1e-3, 0.9, 0.999, 1e-38, 0, true, 1},
                                             {1e-3, 0, 0, 1e-8, 1e30, false, 1}};
  for (const kernels::AdamStep& step : steps)
    for (float w : values)
      for (float m : values) {
        // All v and g together: first which of them are judged finite, then what is written.
        std::vector<kernels::AdamUpdate> updates;
        auto scalar = [&](float value) { return Tensor::full({}, value, device); };
        for (float v : values)
          for (float g : {values[1], values[3], values[5], values[8], values[9], values[12]})
            updates.push_back({scalar(w), {scalar(m)}, {scalar(v)}, scalar(g), step});
        kernels::Record judged(device, static_cast<std::int64_t>(updates.size()));
        kernels::adam_is_finite(updates, judged.all());
        kernels::Record all(device, static_cast<std::int64_t>(updates.size()));
        kernels::write_slots(all.all(), std::vector<std::uint64_t>(updates.size(), 1));
        kernels::adam(updates, all.all());
        for (std::size_t i = 0; i < updates.size(); ++i) {
          bool written = true;
          for (const Tensor& result : {updates[i].w, updates[i].m[0], updates[i].v[0]})
            written = written && std::isfinite(result.item());
          const bool finite = judged.bits(static_cast<std::int64_t>(i)) == 1;
          BOOST_REQUIRE_MESSAGE(finite == written, "w " << w << ", m " << m << ", case " << i << ": judged " << finite);
        }
      }
}

CONTRACT(OPT_4_gradients_are_read_and_not_written_until_they_are_zeroed) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.set_gradients(1);
    Tensor gradient = model.made[1].gradient(), before = kernels::copy(gradient);
    std::uint64_t version = gradient.version();
    optimiser->step(0.01);
    BOOST_TEST(model.made[1].has_pending_gradient());
    BOOST_TEST(model.made[1].gradient().shares_storage_with(gradient));
    check_same_bits(before, model.made[1].gradient(), "gradient");
    BOOST_TEST(gradient.version() == version);
    optimiser->zero_gradients();
    for (const Parameter& parameter : model.made) BOOST_TEST(!parameter.has_pending_gradient());
    check_same_bits(before, gradient, "a gradient that somebody holds");
  }
}

CONTRACT(OPT_4_a_parameter_without_a_pending_gradient_keeps_value_state_and_version) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.set_gradients(1);
    model.made[1].zero_gradient();
    Bits before = values_and_state(*optimiser);
    std::vector<std::uint64_t> expected = versions(*optimiser);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += i % 3 != 1;
    optimiser->step(0.01);
    BOOST_TEST(versions(*optimiser) == expected);
    Bits after = values_and_state(*optimiser);
    for (std::size_t i = 0; i < after.size(); ++i) BOOST_TEST((before[i] == after[i]) == (i % 3 == 1));

    model.made[0].set_gradient(Tensor::zeros({33}, device));
    optimiser->step(0.01);
    BOOST_TEST((widened_bits(model.made[0].value()) != after[0]), "a gradient of zeros is a gradient");
  }
}

CONTRACT(ACC_5_a_step_raises_each_written_version_by_one) {
  for (std::int64_t page : {0, 67}) {
    Model model(device);
    Adam optimiser(model.list, {.page = page});
    for (std::uint64_t step = 1; step < 3; ++step) {
      std::vector<std::uint64_t> expected;
      for (const Parameter& parameter : model.made) expected.push_back(parameter.value().version() + 1);
      model.train(optimiser, step, step + 1);
      for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(model.made[i].value().version() == expected[i]);
    }
  }
}

CONTRACT(OPT_5_the_step_count_rises_only_on_success) {
  for (Make make : makers) {
    Parameter parameter(Tensor::full({2}, 1, device));
    auto optimiser = make({{"p", parameter.handle()}});
    BOOST_TEST(optimiser->step_count() == 0u);
    parameter.set_gradient(Tensor::full({2}, std::nan(""), device));
    for (double rate : {0.1, -1.0}) {
      check_refused([&] { optimiser->step(rate); }, rate < 0 ? "OPT-2" : "OPT-3");
      BOOST_TEST(optimiser->step_count() == 0u);
    }
    parameter.set_gradient(Tensor::full({2}, 1, device));
    optimiser->step(0.1);
    optimiser->step(0);
    BOOST_TEST(optimiser->step_count() == 2u);
    optimiser->zero_gradients();
    optimiser->step(0.1);
    BOOST_TEST(optimiser->step_count() == 3u, "a step without gradients is a step");
  }
}

CONTRACT(OPT_10_an_optimiser_outlives_the_module_the_parameters_and_the_list) {
  for (Make make : makers) {
    std::unique_ptr<Optimiser> optimiser;
    {
      Random random(1);
      Linear layer(3, 2, random["layer"]);
      layer.to(device);
      ParameterList list = layer.parameters();
      optimiser = make(list);
      for (const NamedParameter& entry : list)
        entry.parameter->set_gradient(Tensor::full(entry.parameter->value().shape(), 1, device));
    }
    BOOST_REQUIRE(optimiser->parameters().size() == 2u);
    Bits before = values_and_state(*optimiser);
    optimiser->step(0.01);
    Bits after = values_and_state(*optimiser);
    for (std::size_t i = 0; i < after.size(); ++i) BOOST_TEST((before[i] != after[i]), "tensor " << i);
  }
}

namespace {

/// Two modules, of which the second uses the first one's weight.
class Owner final : public Module {
 public:
  explicit Owner(Device device) : weight_(Tensor::from<float>({4, -8}, {2}, device)) {
    register_parameter("weight", weight_);
  }
  ParameterHandle weight() const { return weight_.handle(); }

 private:
  Parameter weight_;
};
class User final : public Module {
 public:
  explicit User(ParameterHandle shared) : shared_(std::move(shared)) {}
  Variable forward(const Variable& x) const { return multiply(x, shared_->variable()); }

 private:
  ParameterHandle shared_;
};
class Tied final : public Module {
 public:
  explicit Tied(Device device) : owner_(device), user_(owner_.weight()) {
    register_module("owner", owner_);
    register_module("user", user_);
  }
  Variable forward(const Variable& x, const Variable& y) const {
    return add(sum(multiply(x, owner_.weight()->variable())), sum(user_.forward(y)));
  }

 private:
  Owner owner_;
  User user_;
};

}  // namespace

CONTRACT(OPT_11_a_tied_parameter_gets_both_contributions_and_is_stepped_once) {
  Tied model(device);
  ParameterList list = model.parameters();
  BOOST_REQUIRE(list.size() == 1u);
  BOOST_TEST(list[0].name == "owner.weight");
  Sgd optimiser(list);
  model.forward(Tensor::from<float>({1, 2}, {2}, device), Tensor::from<float>({16, 32}, {2}, device)).backward();
  check_same_bits(Tensor::from<float>({17, 34}, {2}, device), list[0].parameter->gradient(), "both contributions");
  optimiser.step(0.5);
  check_same_bits(Tensor::from<float>({4 - 8.5f, -8 - 17.0f}, {2}, device), list[0].parameter->value(), "one step");
}
