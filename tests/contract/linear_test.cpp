// Contract of linear.
#include "autograd/linear.hpp"

#include "autograd/ops.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

const Operation biased = [](const auto& in) { return linear(in[0], in[1], in[2]); };
const Operation rectified = [](const auto& in) { return linear(in[0], in[1], in[2], {.relu = true}); };

}  // namespace

CONTRACT(CHECK_1_linear_matches_the_oracle) {
  std::vector<Tensor> inputs{drawn({5, 33}, 1, device), drawn({7, 33}, 2, device), drawn({7}, 3, device)};
  check_operation(device, "linear", biased, inputs, 16);
  check_operation(device, "linear with relu", rectified, inputs, 16, true);
  check_operation(
      device, "without bias", [](const auto& in) { return linear(in[0], in[1]); }, {inputs[0], inputs[1]}, 16);
  check_operation(device, "leading axes", biased, {drawn({2, 3, 4, 9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation(device, "one row", biased, {drawn({9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation(device, "no rows", biased, {drawn({0, 9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation(device, "no depth", biased, {drawn({2, 3, 0}, 1), drawn({5, 0}, 2), drawn({5}, 3)}, 16);
}

CONTRACT(LAYER_1_linear_has_the_bits_of_matmul_add_and_relu) {
  for (std::int64_t depth : {33, 1030}) {
    std::vector<Tensor> inputs{drawn({61, depth}, 1, device), drawn({47, depth}, 2, device), drawn({47}, 3, device)};
    Outcome composed =
        outcome([](const auto& in) { return add(matmul(in[0], transpose(in[1], 0, 1)), in[2]); }, inputs);
    check_same_bits(composed, outcome(biased, inputs), "linear");
    composed = outcome([](const auto& in) { return relu(add(matmul(in[0], transpose(in[1], 0, 1)), in[2])); }, inputs);
    check_same_bits(composed, outcome(rectified, inputs), "linear with relu");
  }
}

CONTRACT(LAYER_1_the_gradient_of_a_weight_is_row_major) {
  Variable w = Variable::leaf(drawn({7, 9}, 1, device));
  sum(linear(drawn({5, 9}, 2, device), w)).backward();
  BOOST_TEST(w.gradient().contiguous());
}

CONTRACT(LAYER_1_linear_refuses_shapes_that_do_not_match) {
  check_refused([&] { linear(drawn({2, 3}, 1, device), drawn({5, 4}, 2, device)); }, "LAYER-1", "[2, 3], [5, 4]");
  check_refused(
      [&] {
        linear(drawn({2, 3}, 1, device), drawn({5, 3}, 2, device), drawn({4}, 3, device));
      },
      "LAYER-1", "and [4]");
  check_refused([&] { linear(drawn({}, 1, device), drawn({5, 3}, 2, device)); }, "LAYER-1");
  check_refused([&] { linear(drawn({2, 3}, 1, device), drawn({5, 3}, 2, reference_device)); }, "GRAPH-13");
}
