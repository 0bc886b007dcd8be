// Contract of the optimisers' formulas: what a step computes, by itself, in groups and on any threads.
#include <cmath>
#include <limits>

#include "device/cpu/thread_pool.hpp"
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
