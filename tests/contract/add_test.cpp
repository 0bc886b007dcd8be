// Contract of add.
#include "autograd/add.hpp"

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

BOOST_AUTO_TEST_SUITE(add_op)

BOOST_AUTO_TEST_CASE(GRAPH_11_add_broadcasts_as_numpy_does_and_its_gradient_sums_back) {
  Operation operation = [](const auto& in) { return add(in[0], in[1]); };
  check_operation("add", operation, {drawn({4, 3}, 1), drawn({4, 3}, 2)});
  check_operation("add of a row", operation, {drawn({4, 33}, 1), drawn({33}, 2)});
  check_operation("add of a column", operation, {drawn({5, 1}, 1), drawn({2, 5, 7}, 2)});
  check_operation("add of a scalar", operation, {drawn({5, 6}, 1), drawn({}, 2)});
  check_operation("add split over threads", operation, {drawn({300, 70}, 1), drawn({70}, 2)}, 64);
  check_operation("add of nothing", operation, {drawn({0, 3}, 1), drawn({3}, 2)});
}

BOOST_AUTO_TEST_CASE(GRAPH_11_shapes_that_do_not_broadcast_are_refused) {
  check_refused([] { add(drawn({2, 3}, 1), drawn({2}, 2)); }, "GRAPH-11", "[2, 3] and [2]");
}

BOOST_AUTO_TEST_CASE(GRAPH_13_operands_on_two_devices_are_refused) {
  check_refused([] { add(drawn({2}, 1), drawn({2}, 2, -1, 1, reference_device)); }, "GRAPH-13", "cpu and reference");
}

BOOST_AUTO_TEST_SUITE_END()
