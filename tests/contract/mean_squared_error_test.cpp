// Contract of the mean squared error.
#include "autograd/mean_squared_error.hpp"

#include "numerics/order.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_mean_squared_error_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return mean_squared_error(in[0], in[1]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "mean_squared_error", operation, {drawn({size}, 1), drawn({size}, 2)}, 16);
  check_operation(device, "mean_squared_error", operation, {drawn({3, 5, 7}, 1), drawn({3, 5, 7}, 2)}, 16);
  check_operation(device, "mean_squared_error on several threads", operation,
                  {drawn({300, 70}, 1), drawn({300, 70}, 2)}, 16);
  check_operation(
      device, "of a shard", [](const auto& in) { return mean_squared_error(in[0], in[1], 100); },
      {drawn({3, 5}, 1), drawn({3, 5}, 2)}, 16);
}

CONTRACT(NUM_8_mean_squared_error_and_its_gradients_are_the_stated_expressions) {
  Tensor x = drawn({5000}, 1, device), target = drawn({5000}, 2, device);
  Outcome found = outcome([](const auto& in) { return mean_squared_error(in[0], in[1]); }, {x, target});
  auto a = x.read<float>(), b = target.read<float>();
  auto difference = [&](std::size_t i) { return a[static_cast<std::int64_t>(i)] - b[static_cast<std::int64_t>(i)]; };
  BOOST_TEST(found.value.item() == numerics::lane_dot(5000, difference, difference) / 5000.0f);
  float scale = static_cast<float>(drawn({}, 99, 0.5, 1.5, device).item()) / 5000.0f;
  check_same_bits(each([=](float p, float q) { return (2.0f * (p - q)) * scale; }, x, target), found.gradients[0],
                  "gradient of x");
  check_same_bits(each([=](float p, float q) { return -((2.0f * (p - q)) * scale); }, x, target), found.gradients[1],
                  "gradient of the target");
}

CONTRACT(NUM_8_errors_that_every_order_gives_exactly_equal_the_oracle) {
  Tensor x = whole_numbers({1024}, 1, 20, device), target = whole_numbers({1024}, 2, 20, device);
  Tensor oracle = mean_squared_error(x.to(reference_device), target.to(reference_device)).value();
  check_same_bits(oracle.to(device), mean_squared_error(x, target).value(), "mean_squared_error");
}

CONTRACT(LAYER_3_an_empty_batch_has_a_loss_of_positive_zero) {
  for (auto count : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0), std::optional<std::int64_t>(8)}) {
    Variable x = Variable::leaf(drawn({0, 3}, 1, device)),
             loss = mean_squared_error(x, drawn({0, 3}, 2, device), count);
    loss.backward();
    BOOST_TEST(ulp_distance(loss.value().item(), 0.0) == 0u);
    BOOST_TEST(x.has_pending_gradient());
  }
}

CONTRACT(LAYER_3_mean_squared_error_refuses_two_shapes_and_too_small_a_count) {
  check_refused(
      [&] {
        mean_squared_error(drawn({2, 3}, 1, device), drawn({3}, 1, device));
      },
      "LAYER-3", "expected operands of one shape, found [2, 3] and [3]");
  check_refused([&] { mean_squared_error(drawn({4}, 1, device), drawn({4}, 1, device), 3); }, "LAYER-3",
                "expected a count of at least the 4 elements, found 3");
  check_refused([&] { mean_squared_error(drawn({2}, 1, device), drawn({2}, 2, reference_device)); }, "GRAPH-13",
                to_string(device) + " and reference");
}
