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

BOOST_AUTO_TEST_SUITE(linear_op)

BOOST_AUTO_TEST_CASE(CHECK_1_linear_matches_the_oracle) {
  std::vector<Tensor> inputs{drawn({5, 33}, 1), drawn({7, 33}, 2), drawn({7}, 3)};
  check_operation("linear", biased, inputs, 16);
  check_operation("linear with relu", rectified, inputs, 16, true);
  check_operation(
      "without bias", [](const auto& in) { return linear(in[0], in[1]); }, {inputs[0], inputs[1]}, 16);
  check_operation("leading axes", biased, {drawn({2, 3, 4, 9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation("one row", biased, {drawn({9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation("no rows", biased, {drawn({0, 9}, 1), drawn({5, 9}, 2), drawn({5}, 3)}, 16);
  check_operation("no depth", biased, {drawn({2, 3, 0}, 1), drawn({5, 0}, 2), drawn({5}, 3)}, 16);
}

BOOST_AUTO_TEST_CASE(LAYER_1_linear_has_the_bits_of_matmul_add_and_relu) {
  for (std::int64_t depth : {33, 1030}) {
    std::vector<Tensor> inputs{drawn({61, depth}, 1), drawn({47, depth}, 2), drawn({47}, 3)};
    Outcome composed =
        outcome([](const auto& in) { return add(matmul(in[0], transpose(in[1], 0, 1)), in[2]); }, inputs);
    check_same_bits(composed, outcome(biased, inputs), "linear");
    composed = outcome([](const auto& in) { return relu(add(matmul(in[0], transpose(in[1], 0, 1)), in[2])); }, inputs);
    check_same_bits(composed, outcome(rectified, inputs), "linear with relu");
  }
}

BOOST_AUTO_TEST_CASE(LAYER_1_the_gradient_of_a_weight_is_row_major) {
  Variable w = Variable::leaf(drawn({7, 9}, 1));
  sum(linear(drawn({5, 9}, 2), w)).backward();
  BOOST_TEST(w.gradient().contiguous());
}

BOOST_AUTO_TEST_CASE(LAYER_1_shapes_that_do_not_match_are_refused) {
  check_refused([] { linear(drawn({2, 3}, 1), drawn({5, 4}, 2)); }, "LAYER-1", "[2, 3], [5, 4]");
  check_refused([] { linear(drawn({2, 3}, 1), drawn({5, 3}, 2), drawn({4}, 3)); }, "LAYER-1", "and [4]");
  check_refused([] { linear(drawn({}, 1), drawn({5, 3}, 2)); }, "LAYER-1");
  check_refused([] { linear(drawn({2, 3}, 1), drawn({5, 3}, 2).to(reference_device)); }, "GRAPH-13");
}

BOOST_AUTO_TEST_SUITE_END()
