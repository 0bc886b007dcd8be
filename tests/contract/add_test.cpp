// Contract of add.
#include "autograd/add.hpp"

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_11_add_broadcasts_as_numpy_does_and_its_gradient_sums_back) {
  Operation operation = [](const auto& in) { return add(in[0], in[1]); };
  check_operation(device, "add", operation, {drawn({4, 3}, 1), drawn({4, 3}, 2)});
  check_operation(device, "add of a row", operation, {drawn({4, 33}, 1), drawn({33}, 2)});
  check_operation(device, "add of a column", operation, {drawn({5, 1}, 1), drawn({2, 5, 7}, 2)});
  check_operation(device, "add of a scalar", operation, {drawn({5, 6}, 1), drawn({}, 2)});
  check_operation(device, "add split over threads", operation, {drawn({300, 70}, 1), drawn({70}, 2)}, 64);
  check_operation(device, "add of nothing", operation, {drawn({0, 3}, 1), drawn({3}, 2)});
}

CONTRACT(GRAPH_11_add_refuses_shapes_that_do_not_broadcast) {
  check_refused([&] { add(drawn({2, 3}, 1, device), drawn({2}, 2, device)); }, "GRAPH-11", "[2, 3] and [2]");
}

CONTRACT(GRAPH_13_add_refuses_operands_on_two_devices) {
  check_refused([&] { add(drawn({2}, 1, device), drawn({2}, 2, reference_device)); }, "GRAPH-13",
                to_string(device) + " and reference");
}
