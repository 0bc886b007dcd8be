// Contract of the optimisers.
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/adam.hpp"
#include "kernels/copy.hpp"
#include "numerics/arithmetic.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

BOOST_AUTO_TEST_SUITE(optimisers)

namespace {

using numerics::fma;
using Make = std::unique_ptr<Optimiser> (*)(ParameterList);

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
const Make makers[] = {
    [](ParameterList list) -> std::unique_ptr<Optimiser> {
      return std::make_unique<Sgd>(list, SgdOptions{.momentum = 0.9});
    },
    [](ParameterList list) -> std::unique_ptr<Optimiser> {
      return std::make_unique<Adam>(list, AdamOptions{.weight_decay = 0.01, .decoupled = true});
    },
};

/// Three parameters, the second a strided view, with gradients that are a function of the step.
struct Model {
  std::vector<Parameter> made;
  ParameterList list;

  explicit Model(Device device = cpu) {
    const Shape shapes[] = {{33}, {130, 67}, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      Tensor value = drawn(shapes[i], i);
      made.emplace_back(device == cpu ? strided(value) : value.to(device));
    }
    for (std::size_t i = 0; i < 3; ++i) list.push_back({"p" + std::to_string(i), made[i].handle()});
  }
  void set_gradients(std::uint64_t step) {
    for (std::size_t i = 0; i < 3; ++i) {
      Tensor gradient = drawn(made[i].value().shape(), 10 * step + i);
      made[i].set_gradient(made[i].value().device() == cpu && step % 2 ? strided(gradient)
                                                                       : gradient.to(made[i].value().device()));
    }
  }
  void train(Optimiser& optimiser, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step < to; ++step) {
      set_gradients(step);
      optimiser.step(0.01 + 0.001 * static_cast<double>(step));
    }
  }
};

/// Values and state of everything, copied.
std::vector<Tensor> everything(const Optimiser& optimiser) {
  std::vector<Tensor> all;
  for (const NamedParameter& entry : optimiser.parameters()) all.push_back(kernels::copy(entry.parameter->value()));
  for (const NamedTensor& entry : optimiser.state().tensors) all.push_back(kernels::copy(entry.tensor));
  return all;
}
std::vector<std::uint64_t> versions(const Optimiser& optimiser) {
  std::vector<std::uint64_t> all;
  for (const NamedParameter& entry : optimiser.parameters()) all.push_back(entry.parameter->value().version());
  for (const NamedTensor& entry : optimiser.state().tensors) all.push_back(entry.tensor.version());
  return all;
}
void check_same(const std::vector<Tensor>& expected, const std::vector<Tensor>& found, const std::string& what) {
  BOOST_REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::int64_t k = 0; k < expected[i].size(); ++k) {
      if (doubles(expected[i]) == doubles(found[i])) break;
      BOOST_ERROR(what << ": tensor " << i << " differs");
      return;
    }
}
OptimiserState copied(OptimiserState state) {
  for (NamedTensor& entry : state.tensors) entry.tensor = kernels::copy(entry.tensor);
  return state;
}

}  // namespace

BOOST_AUTO_TEST_CASE(OPT_2_sgd_is_its_formula_bit_for_bit_and_close_to_the_oracle) {
  for (const auto& [name, options] : sgd_cases) {
    Model model, wide(reference_device);
    Sgd optimiser(model.list, options), oracle(wide.list, options);
    std::vector<float> w, u;
    for (double value : doubles(model.made[1].value())) w.push_back(static_cast<float>(value));
    u.resize(w.size());
    for (std::uint64_t step = 1; step <= 5; ++step) {
      model.train(optimiser, step, step + 1);
      wide.train(oracle, step, step + 1);
      auto rate = static_cast<float>(0.01 + 0.001 * static_cast<double>(step));
      auto momentum = static_cast<float>(options.momentum), decay = static_cast<float>(options.weight_decay);
      std::vector<double> gradient = doubles(model.made[1].gradient());
      for (std::size_t i = 0; i < w.size(); ++i) {
        auto g = static_cast<float>(gradient[i]);
        if (decay != 0) g = fma(decay, w[i], g);
        u[i] = fma(momentum, u[i], g);
        w[i] = w[i] - rate * (options.nesterov ? fma(momentum, u[i], g) : u[i]);
      }
      check_same_bits(Tensor::from(w, {130, 67}), model.made[1].value(), name);
      check_same_bits(Tensor::from(u, {130, 67}), optimiser.state().tensors[1].tensor, name);
      for (std::size_t i = 0; i < 3; ++i)
        check_close_to_oracle(wide.made[i].value(), model.made[i].value(), 4, name, 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(OPT_2_adam_and_adamw_are_their_formula_bit_for_bit_and_close_to_the_oracle) {
  for (const auto& [name, options] : adam_cases) {
    Model model, wide(reference_device);
    Adam optimiser(model.list, options), oracle(wide.list, options);
    std::vector<float> w, m, v;
    for (double value : doubles(model.made[1].value())) w.push_back(static_cast<float>(value));
    m.resize(w.size());
    v.resize(w.size());
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
      std::vector<double> gradient = doubles(model.made[1].gradient());
      for (std::size_t i = 0; i < w.size(); ++i) {
        float g = once(gradient[i]);
        if (options.decoupled) w[i] = w[i] * once(1 - eta * options.weight_decay);
        if (!options.decoupled && options.weight_decay != 0) g = fma(once(options.weight_decay), w[i], g);
        m[i] = fma(once(options.beta1), m[i], once(1 - options.beta1) * g);
        v[i] = fma(once(options.beta2), v[i], (once(1 - options.beta2) * g) * g);
        w[i] = w[i] - a * (m[i] / fma(std::sqrt(v[i]), b, once(options.epsilon)));
      }
      check_same_bits(Tensor::from(w, {130, 67}), model.made[1].value(), name);
      check_same_bits(Tensor::from(m, {130, 67}), optimiser.state().tensors[1].tensor, name);
      check_same_bits(Tensor::from(v, {130, 67}), optimiser.state().tensors[4].tensor, name);
      // An element whose moments nearly cancel moves by up to η either way, so the scale is that of the weights.
      for (std::size_t i = 0; i < 3; ++i)
        check_close_to_oracle(wide.made[i].value(), model.made[i].value(), 8, name, 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(NUM_1_a_step_has_the_same_bits_on_any_threads) {
  for (Make make : makers) {
    std::vector<Tensor> expected;
    for (int count : {1, 2, 3, 7}) {
      set_threads(count);
      Model model;
      auto optimiser = make(model.list);
      model.train(*optimiser, 1, 4);
      if (count == 1) expected = everything(*optimiser);
      check_same(expected, everything(*optimiser), std::to_string(count) + " threads");
    }
    set_threads(1);
  }
}

BOOST_AUTO_TEST_CASE(OPT_3_a_result_that_is_not_finite_changes_nothing_and_names_the_parameter) {
  for (Device device : devices())
    for (Make make : makers)
      for (double bad : {std::nan(""), HUGE_VAL}) {
        Model model(device);
        auto optimiser = make(model.list);
        model.train(*optimiser, 1, 3);
        std::vector<Tensor> before = everything(*optimiser);
        std::vector<std::uint64_t> old_versions = versions(*optimiser);
        model.set_gradients(3);
        std::vector<float> values(130 * 67, 0.5f);
        values[4000] = static_cast<float>(bad);
        model.made[1].set_gradient(Tensor::from(values, {130, 67}, device));
        check_refused([&] { optimiser->step(0.01); }, "OPT-3", "\"p1\"");
        check_same(before, everything(*optimiser), "after a refused step");
        BOOST_TEST(versions(*optimiser) == old_versions);
        BOOST_TEST(optimiser->step_count() == 2u);
        model.set_gradients(3);
        optimiser->step(0.01);
        BOOST_TEST(optimiser->step_count() == 3u);
      }
}

BOOST_AUTO_TEST_CASE(OPT_3_an_overflow_of_the_update_itself_changes_nothing) {
  for (Make make : makers) {
    Parameter parameter(Tensor::full({2}, 3e38));
    auto optimiser = make({{"large", parameter.handle()}});
    parameter.set_gradient(Tensor::full({2}, -1));
    check_refused([&] { optimiser->step(3e38); }, "OPT-3", "\"large\"");
    BOOST_TEST(parameter.value().read<float>()[0] == 3e38f);
    BOOST_TEST(optimiser->state().tensors[0].tensor.read<float>()[1] == 0);
  }
}

BOOST_AUTO_TEST_CASE(OPT_3_adam_judges_each_element_by_the_results_that_it_would_write) {
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
      for (float m : values)
        for (float v : values)
          for (float g : {values[1], values[3], values[5], values[8], values[9], values[12]}) {
            Tensor at[] = {Tensor::full({}, w), Tensor::full({}, m), Tensor::full({}, v)};
            Tensor gradient = Tensor::full({}, g);
            const bool judged = kernels::adam_is_finite(at[0], at[1], at[2], gradient, step);
            kernels::adam(at[0], at[1], at[2], gradient, step);
            bool written = true;
            for (const Tensor& result : at) written = written && std::isfinite(result.item());
            BOOST_REQUIRE_MESSAGE(judged == written, "w " << w << ", m " << m << ", v " << v << ", g " << g
                                                          << ": judged " << judged << ", written " << written);
          }
}

BOOST_AUTO_TEST_CASE(OPT_4_gradients_are_read_and_not_written_until_they_are_zeroed) {
  for (Make make : makers) {
    Model model;
    auto optimiser = make(model.list);
    model.set_gradients(1);
    Tensor gradient = model.made[1].gradient(), before = kernels::copy(gradient);
    std::uint64_t version = gradient.version();
    optimiser->step(0.01);
    BOOST_TEST(model.made[1].has_pending_gradient());
    check_same_bits(before, model.made[1].gradient(), "gradient");
    BOOST_TEST(gradient.version() == version);
    optimiser->zero_gradients();
    for (const Parameter& parameter : model.made) BOOST_TEST(!parameter.has_pending_gradient());
  }
}

BOOST_AUTO_TEST_CASE(ACC_5_a_step_raises_each_written_version_by_one_and_skips_what_has_no_pending_gradient) {
  for (Device device : devices())
    for (Make make : makers) {
      Model model(device);
      auto optimiser = make(model.list);
      model.set_gradients(1);
      model.made[1].zero_gradient();
      std::vector<Tensor> before = everything(*optimiser);
      std::vector<std::uint64_t> expected = versions(*optimiser);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += i % 3 != 1;
      optimiser->step(0.01);
      BOOST_TEST(versions(*optimiser) == expected);
      std::vector<Tensor> after = everything(*optimiser);
      for (std::size_t i = 0; i < after.size(); ++i)
        BOOST_TEST((doubles(before[i]) == doubles(after[i])) == (i % 3 == 1));
      BOOST_TEST(optimiser->step_count() == 1u);

      model.made[0].set_gradient(Tensor::zeros({33}, device));
      optimiser->step(0.01);
      BOOST_TEST(doubles(model.made[0].value()) != doubles(after[0]), "a gradient of zeros is a gradient");
    }
}

BOOST_AUTO_TEST_CASE(OPT_7_a_loaded_state_continues_with_the_same_bits) {
  for (Device device : devices())
    for (Make make : makers) {
      Model whole(device), resumed(device);
      auto one = make(whole.list), two = make(resumed.list);
      whole.train(*one, 1, 4);
      OptimiserState state = copied(one->state());
      for (std::size_t i = 0; i < 3; ++i) resumed.made[i].set_value(whole.made[i].value());
      two->load_state(state);
      BOOST_TEST(two->step_count() == 3u);
      whole.train(*one, 4, 7);
      resumed.train(*two, 4, 7);
      check_same(everything(*one), everything(*two), "resumed");
      BOOST_TEST(two->step_count() == 6u);
    }
}

BOOST_AUTO_TEST_CASE(OPT_7_state_names_are_slot_and_parameter_in_list_order) {
  Model model;
  Adam adam(model.list);
  std::vector<std::string> names;
  for (const NamedTensor& entry : adam.state().tensors) names.push_back(entry.name);
  BOOST_TEST(names == (std::vector<std::string>{"first_moment.p0", "first_moment.p1", "first_moment.p2",
                                                "second_moment.p0", "second_moment.p1", "second_moment.p2"}));
  BOOST_TEST(Sgd(model.list).state().tensors[2].name == "velocity.p2");
  BOOST_TEST(adam.kind() == "adam");
  BOOST_TEST(Adam(model.list, {.decoupled = true}).kind() == "adamw");
}

BOOST_AUTO_TEST_CASE(OPT_7_a_state_that_does_not_fit_is_refused_before_anything_is_written) {
  Model source, target;
  Adam from(source.list), to(target.list);
  source.train(from, 1, 3);
  target.train(to, 11, 12);
  std::vector<Tensor> before = everything(to);
  auto refused = [&](auto change, const std::string& fragment) {
    OptimiserState state = copied(from.state());
    change(state);
    check_refused([&] { to.load_state(state); }, "OPT-7", fragment);
    check_same(before, everything(to), "after a refused load: " + fragment);
    BOOST_TEST(to.step_count() == 1u);
  };
  auto with_last = [](const Tensor& tensor, float value) {
    std::vector<float> values(tensor.read<float>().begin(), tensor.read<float>().end());
    values.back() = value;
    return Tensor::from(values, tensor.shape());
  };
  refused([](auto& s) { s.kind = "sgd"; }, "\"sgd\"");
  refused([](auto& s) { s.tensors.pop_back(); }, "expected 6, found 5");
  refused([](auto& s) { std::swap(s.tensors[3], s.tensors[5]); }, "\"second_moment.p2\"");
  refused([](auto& s) { s.tensors[4].tensor = Tensor::zeros({67, 130}); }, "[67, 130]");
  refused([](auto& s) { s.tensors[4].tensor = s.tensors[4].tensor.to(reference_device); }, "reference");
  refused([](auto& s) { s.tensors[4].tensor = {}; }, "no value");
  refused([](auto& s) { s.tensors[4].tensor = Tensor::uninitialised({130, 67}, cpu, Dtype::int32); }, "int32");
  refused([&](auto& s) { s.tensors[1].tensor = with_last(s.tensors[1].tensor, std::nanf("")); }, "\"first_moment.p1\"");
  refused([&](auto& s) { s.tensors[4].tensor = with_last(s.tensors[4].tensor, -1); }, "below 0");
  refused([&](auto& s) { s.tensors[5].tensor = with_last(s.tensors[5].tensor, HUGE_VALF); }, "\"second_moment.p2\"");
  refused([](auto& s) { s.step_count = 0; }, "at step 0");
  to.load_state(from.state());
  BOOST_TEST(to.step_count() == 2u);
}

BOOST_AUTO_TEST_CASE(OPT_1_lists_that_are_not_valid_are_refused) {
  for (Make make : makers) {
    Parameter a(Tensor::zeros({2})), b(Tensor::zeros({2})), wide(Tensor::zeros({2}, reference_device)),
        nan(Tensor::full({2}, std::nan("")));
    check_refused([&] { make({}); }, "OPT-1", "empty list");
    check_refused([&] { make({{"", a.handle()}}); }, "OPT-1", "name");
    check_refused([&] { make({{"a", {}}}); }, "OPT-1", "\"a\"");
    check_refused([&] { make({{"a", a.handle()}, {"a", b.handle()}}); }, "OPT-1", "\"a\" twice");
    check_refused([&] { make({{"a", a.handle()}, {"b", a.handle()}}); }, "OPT-1", "\"b\"");
    check_refused([&] { make({{"a", a.handle()}, {"wide", wide.handle()}}); }, "OPT-1", "\"wide\" on reference");
    check_refused([&] { make({{"a", a.handle()}, {"nan", nan.handle()}}); }, "OPT-1", "\"nan\"");
  }
}

BOOST_AUTO_TEST_CASE(OPT_2_hyperparameters_outside_their_range_are_refused_by_name) {
  Parameter parameter(Tensor::zeros({2}));
  ParameterList list{{"p", parameter.handle()}};
  auto sgd = [&](SgdOptions options, const char* name) {
    check_refused([&] { Sgd made(list, options); }, "OPT-2", name);
  };
  auto adam = [&](AdamOptions options, const char* name) {
    check_refused([&] { Adam made(list, options); }, "OPT-2", name);
  };
  for (double wrong : {-0.1, 1.0, 1 - 1e-12, std::nan("")}) {
    sgd({.momentum = wrong}, "momentum of sgd");
    adam({.beta1 = wrong}, "beta1 of adam");
    adam({.beta2 = wrong, .decoupled = true}, "beta2 of adamw");
  }
  for (double wrong : {-1e-9, std::nan(""), HUGE_VAL}) {
    sgd({.weight_decay = wrong}, "weight decay");
    adam({.weight_decay = wrong}, "weight decay");
  }
  for (double wrong : {0.0, -1e-8, 1e-60, 1e60, std::nan("")}) adam({.epsilon = wrong}, "epsilon");
  sgd({.nesterov = true}, "nesterov");

  Adam optimiser(list);
  parameter.set_gradient(Tensor::full({2}, 1));
  for (double wrong : {-1e-3, std::nan(""), HUGE_VAL})
    check_refused([&] { optimiser.step(wrong); }, "OPT-2", "learning rate");
  BOOST_TEST(optimiser.step_count() == 0u);
}

BOOST_AUTO_TEST_CASE(OPT_10_an_optimiser_outlives_the_parameters_it_was_given) {
  for (Make make : makers) {
    std::unique_ptr<Optimiser> optimiser;
    {
      Model model;
      optimiser = make(model.list);
      model.set_gradients(1);
    }
    double before = optimiser->parameters()[2].parameter->value().item();
    optimiser->step(0.01);
    BOOST_TEST(optimiser->parameters()[2].parameter->value().item() != before);
  }
}

BOOST_AUTO_TEST_CASE(XFER_9_an_optimiser_whose_parameters_moved_refuses_to_step) {
  for (Make make : makers) {
    Model model;
    auto optimiser = make(model.list);
    model.train(*optimiser, 1, 2);
    move_parameters_to(model.list, reference_device);
    std::vector<Tensor> before = everything(*optimiser);
    check_refused([&] { optimiser->step(0.01); }, "XFER-9", "\"p0\" on cpu");
    check_same(before, everything(*optimiser), "after a refused step");
    BOOST_TEST(optimiser->step_count() == 1u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
