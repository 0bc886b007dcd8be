// Contract of clipping by the global norm.
#include "optim/clip.hpp"

#include <cmath>

#include "numerics/order.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// Three parameters whose gradients are drawn (the second one strided), and one without a pending gradient.
struct Fixture {
  std::vector<Parameter> made;
  ParameterList list;

  explicit Fixture(Device device) {
    const Shape shapes[] = {{33}, {70, 61}, {}, {5}};
    for (const Shape& shape : shapes) made.emplace_back(Tensor::zeros(shape, device));
    for (std::size_t i = 0; i < made.size(); ++i) list.push_back({"p" + std::to_string(i), made[i].handle()});
    for (std::size_t i = 0; i < 3; ++i) {
      Tensor gradient = drawn(shapes[i], i, -1, 1, device);
      made[i].set_gradient(device == reference_device ? gradient : strided(gradient));
    }
  }
  std::vector<Tensor> gradients() const {
    std::vector<Tensor> all;
    for (const Parameter& parameter : made) all.push_back(parameter.gradient());
    return all;
  }
};

double expected_norm(const Fixture& fixture) {
  double total = 0;
  for (const Tensor& gradient : fixture.gradients()) {
    std::vector<double> values = doubles(gradient);
    total += numerics::lane_sum(values.size(), [&](std::size_t i) { return values[i] * values[i]; });
  }
  return std::sqrt(total);
}

}  // namespace

CONTRACT(OPT_6_the_norm_adds_tensors_in_list_order_with_equal_bits_on_any_threads) {
  for (int count : {1, 2, 3, 7}) {
    set_threads(count);
    Fixture fixture(device);
    BOOST_TEST(global_gradient_norm(fixture.list) == expected_norm(fixture));
  }
  set_threads(1);
  Fixture oracle(reference_device);
  BOOST_TEST(std::abs(global_gradient_norm(oracle.list) / expected_norm(oracle) - 1) < 1e-14);
  BOOST_TEST(global_gradient_norm({}) == 0);
  BOOST_TEST(clip_gradients({}, 1) == 0);
}

CONTRACT(OPT_6_gradients_are_scaled_only_when_the_norm_is_strictly_above) {
  Fixture fixture(device);
  double norm = global_gradient_norm(fixture.list);
  std::vector<Tensor> before = fixture.gradients();
  BOOST_TEST(clip_gradients(fixture.list, norm) == norm);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(fixture.made[i].gradient().shares_storage_with(before[i]));

  double below = std::nextafter(norm, 0);
  for (double limit : {below, 0.25}) {
    Fixture clipped(device);
    std::vector<Tensor> old = clipped.gradients();
    BOOST_TEST(clip_gradients(clipped.list, limit) == norm);
    auto factor = static_cast<float>(limit / norm);
    for (std::size_t i = 0; i < 3; ++i) {
      auto was = old[i].read<float>(), now = clipped.made[i].gradient().read<float>();
      for (std::int64_t k = 0; k < was.size(); ++k) BOOST_TEST(now[k] == was[k] * factor);
      check_same_bits(before[i], old[i], "a gradient that somebody else holds");
    }
    BOOST_TEST(!clipped.made[3].has_pending_gradient());
  }
}

CONTRACT(OPT_6_gradients_of_1e20_do_not_overflow) {
  for (Device place : {device, reference_device}) {
    Parameter parameter(Tensor::zeros({3}, place));
    parameter.set_gradient(Tensor::full({3}, 1e20, place));
    ParameterList list{{"p", parameter.handle()}};
    BOOST_TEST(std::abs(clip_gradients(list, 1) / (std::sqrt(3) * 1e20) - 1) < 1e-7);
    BOOST_TEST(std::abs(global_gradient_norm(list) - 1) < 1e-6);
  }
}

CONTRACT(OPT_6_clipping_after_accumulation_clips_the_total) {
  Parameter parameter(Tensor::full({1}, 1, device));
  ParameterList list{{"p", parameter.handle()}};
  parameter.variable().backward();
  parameter.variable().backward();
  BOOST_TEST(clip_gradients(list, 0.5) == 2);
  BOOST_TEST(parameter.gradient().item() == 0.5);
}

CONTRACT(OPT_6_a_gradient_that_is_not_finite_is_refused_by_name_and_nothing_changes) {
  for (float bad : {std::nanf(""), HUGE_VALF}) {
    Fixture fixture(device);
    fixture.made[2].set_gradient(Tensor::full({}, bad, device));
    Facts before = facts_of(fixture.list);
    check_refused([&] { global_gradient_norm(fixture.list); }, "OPT-6", "\"p2\"");
    check_refused([&] { clip_gradients(fixture.list, 1e-3); }, "OPT-6", "\"p2\"");
    BOOST_TEST(before == facts_of(fixture.list));
  }
}

CONTRACT(OPT_6_a_limit_that_is_not_a_positive_number_is_refused) {
  Fixture fixture(device);
  Facts before = facts_of(fixture.list);
  for (double limit : {0.0, -1.0, std::nan(""), HUGE_VAL})
    check_refused([&] { clip_gradients(fixture.list, limit); }, "OPT-6", "above 0");
  BOOST_TEST(before == facts_of(fixture.list));
}

CONTRACT(OPT_1_norm_and_clipping_refuse_lists_that_are_not_valid) {
  Parameter parameter(Tensor::zeros({2}, device));
  ParameterList list{{"a", parameter.handle()}, {"b", parameter.handle()}};
  check_refused([&] { global_gradient_norm(list); }, "OPT-1", "\"b\"");
  check_refused([&] { clip_gradients(list, 1); }, "OPT-1", "\"b\"");
  check_refused([&] { global_gradient_norm({{"", parameter.handle()}}); }, "OPT-1", "name");
  check_refused([&] { clip_gradients({{"none", {}}}, 1); }, "OPT-1", "\"none\"");
}
