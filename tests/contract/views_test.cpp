// Contract of the zero-copy views of variables.
#include "autograd/views.hpp"

#include "autograd/multiply.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_12_views_match_the_oracle_forward_and_backward) {
  Tensor x = drawn({3, 5, 7}, 1, device);
  check_operation(
      device, "transpose", [](const auto& in) { return transpose(in[0], 0, 2); }, {x}, 0);
  check_operation(
      device, "transpose", [](const auto& in) { return transpose(in[0], -1, -2); }, {x}, 0);
  check_operation(
      device, "reshape",
      [](const auto& in) {
        return reshape(in[0], {15, 7});
      },
      {x}, 0);
  check_operation(
      device, "reshape of a transpose",
      [](const auto& in) {
        return reshape(transpose(in[0], 0, 1), {5, 21});
      },
      {x}, 0);
  check_operation(
      device, "slice", [](const auto& in) { return slice(in[0], 1, 1, 4); }, {x}, 0);
  check_operation(
      device, "empty slice", [](const auto& in) { return slice(in[0], 0, 2, 2); }, {x}, 0);
  check_operation(
      device, "views of nothing",
      [](const auto& in) {
        return reshape(transpose(in[0], 0, 1), {0, 8});
      },
      {drawn({0, 3}, 1)}, 0);
}

CONTRACT(GRAPH_12_a_view_of_a_contiguous_operand_shares_its_elements) {
  Variable x(drawn({4, 6}, 1, device));
  BOOST_TEST(transpose(x, 0, 1).value().shares_storage_with(x.value()));
  BOOST_TEST(reshape(x, {24}).value().shares_storage_with(x.value()));
  BOOST_TEST(slice(x, 1, 2, 3).value().shares_storage_with(x.value()));
}

CONTRACT(GRAPH_2_overlapping_slices_add_their_gradients) {
  Variable x = Variable::leaf(drawn({4}, 1, device));
  Variable y = multiply(slice(x, 0, 0, 3), slice(x, 0, 1, 4));
  y.backward(Tensor::full({3}, 1, device));
  auto v = x.value().read<float>(), g = x.gradient().read<float>();
  BOOST_TEST(g[0] == v[1]);
  BOOST_TEST(g[1] == v[2] + v[0]);
  BOOST_TEST(g[3] == v[2]);
}

CONTRACT(ACC_4_views_that_do_not_fit_are_refused) {
  check_refused([&] { reshape(drawn({2, 3}, 1, device), {5}); }, "ACC-4", "expected a shape of 6 elements, found [5]");
  check_refused(
      [&] {
        slice(drawn({2, 3}, 1, device), 1, 2, 4);
      },
      "ACC-4", "expected 0 <= begin <= end <= 3, found 2 to 4");
  check_refused([&] { transpose(drawn({2, 3}, 1, device), 0, 2); }, "ACC-4", "expected an axis of [2, 3], found 2");
}
