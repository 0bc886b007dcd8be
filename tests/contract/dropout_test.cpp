// Contract of dropout under a given mask.
#include "autograd/dropout.hpp"

#include <limits>

#include "support/contract.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Tensor mask_of(const Shape& shape, double p, Device device) {
  std::vector<std::uint8_t> kept;
  for (double u : doubles(drawn(shape, 7, 0, 1))) kept.push_back(u >= p);
  return Tensor::from(kept, shape, device);
}

}  // namespace

CONTRACT(CHECK_1_dropout_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return dropout(in[0], mask_of(in[0].shape(), 0.2, in[0].device()), 0.2); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257}) check_operation(device, "dropout", operation, {drawn({size}, 1)});
  check_operation(device, "dropout", operation, {drawn({3, 5, 7}, 2)});
  check_operation(device, "dropout on several threads", operation, {drawn({300, 70}, 2)});
}

CONTRACT(MODE_3_dropout_selects_the_scaled_value_or_positive_zero) {
  Tensor x = drawn({257}, 1, device), g = drawn({257}, 99, 0.5, 1.5, device), mask = mask_of({257}, 0.3, device);
  Outcome found = outcome([&](const auto& in) { return dropout(in[0], mask, 0.3); }, {x});
  auto kept = mask.read<std::uint8_t>();
  std::int64_t i = 0, j = 0;
  auto scale = static_cast<float>(1 / (1 - 0.3));
  check_same_bits(each([&](float value) { return kept[i++] ? value * scale : 0.0f; }, x), found.value, "dropout");
  check_same_bits(each([&](float up) { return kept[j++] ? up * scale : 0.0f; }, g), found.gradients[0], "gradient");
}

CONTRACT(MODE_3_a_mask_never_multiplies) {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  auto y = dropout(Tensor::from<float>({nan, infinity, -3, -3}, {4}, device),
                   Tensor::from<std::uint8_t>({0, 0, 0, 1}, {4}, device), 0.5)
               .value()
               .read<float>();
  for (std::int64_t i = 0; i < 3; ++i) BOOST_TEST(ulp_distance(y[i], 0.0f) == 0u);
  BOOST_TEST(y[3] == -6);
}

CONTRACT(MODE_3_at_p_0_the_input_keeps_its_bits) {
  Tensor x = drawn({33}, 1, device);
  check_same_bits(x, dropout(x, mask_of({33}, 0, device), 0).value(), "dropout at p = 0");
}

CONTRACT(MODE_3_dropout_refuses_a_probability_outside_0_to_1) {
  for (double p : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    check_refused([=] { dropout(drawn({2}, 1, device), mask_of({2}, 0, device), p); }, "MODE-3",
                  "expected p in [0, 1), found ");
}

CONTRACT(ACC_4_dropout_refuses_a_mask_of_another_shape_type_or_device) {
  check_refused([&] { dropout(drawn({2}, 1, device), mask_of({3}, 0, device), 0); }, "ACC-4",
                "expected a mask [2], found [3]");
  check_refused([&] { dropout(drawn({2}, 1, device), drawn({2}, 1, device), 0); }, "ACC-4", "uint8");
  check_refused([&] { dropout(drawn({2}, 1, device), mask_of({2}, 0, reference_device), 0); }, "GRAPH-13",
                to_string(device) + " and reference");
}

CONTRACT(GRAPH_5_a_mask_that_changed_before_backward_is_refused) {
  Tensor mask = mask_of({4}, 0.5, device);
  Variable y = dropout(Variable::leaf(drawn({4}, 1, device)), mask, 0.5);
  mask.write(std::vector<std::uint8_t>{1, 1, 1, 1});
  check_refused([&] { y.backward(drawn({4}, 2, device)); }, "GRAPH-5", "dropout");
}
