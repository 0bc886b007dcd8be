// Contract of nf4_linear.
#include "autograd/nf4_linear.hpp"

#include "autograd/ops.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// The operation with the codes of a drawn matrix, on the device of its operand.
Operation packed_linear(const Shape& shape, const Nf4Options& options, bool bias = true) {
  return [=](const auto& in) {
    const Nf4 weight = kernels::quantise(drawn(shape, 2, in[0].device()), options);
    return bias ? nf4_linear(in[0], weight, in[1]) : nf4_linear(in[0], weight);
  };
}

}  // namespace

CONTRACT(CHECK_1_nf4_linear_matches_the_oracle) {
  for (bool twice : {false, true}) {
    const Nf4Options options{.block = 32, .double_quantisation = twice};
    check_operation(device, "nf4_linear", packed_linear({7, 33}, options), {drawn({5, 33}, 1), drawn({7}, 3)}, 16);
    check_operation(device, "one number", packed_linear({1, 1}, options), {drawn({5, 1}, 1), drawn({1}, 3)}, 16);
    check_operation(device, "without bias", packed_linear({31, 32}, options, false), {drawn({33, 32}, 1)}, 16);
    check_operation(device, "leading axes", packed_linear({5, 9}, options), {drawn({2, 3, 4, 9}, 1), drawn({5}, 3)},
                    16);
    check_operation(device, "one row", packed_linear({5, 9}, options), {drawn({9}, 1), drawn({5}, 3)}, 16);
    check_operation(device, "no rows", packed_linear({5, 9}, options), {drawn({0, 9}, 1), drawn({5}, 3)}, 16);
  }
}

CONTRACT(NF4_3_it_has_the_bits_of_linear_with_the_dequantised_matrix) {
  struct Case {
    Shape matrix;
    Nf4Options options;
    std::int64_t rows;
  };
  for (const auto& [matrix, options, rows] :
       {Case{{33, 1030}, {.block = 64}, 17}, Case{{33, 1030}, {.block = 64}, 1}, Case{{65, 40}, {.block = 4096}, 70},
        Case{{130, 257}, {.block = 32, .double_quantisation = false}, 33}, Case{{1100, 3}, {.block = 32}, 5}}) {
    const Nf4 weight = kernels::quantise(drawn(matrix, 2, device), options);
    const std::vector<Tensor> inputs{drawn({rows, matrix[1]}, 1, device), drawn({matrix[0]}, 3, device)};
    const Tensor dense = kernels::dequantise(weight);
    for (int threads : {1, 3}) {
      set_threads(threads);
      check_same_bits(outcome([&](const auto& in) { return linear(in[0], dense, in[1]); }, inputs),
                      outcome([&](const auto& in) { return nf4_linear(in[0], weight, in[1]); }, inputs),
                      to_string(matrix) + " for " + std::to_string(rows) + " rows");
    }
    set_threads(1);
    check_same_bits(linear(inputs[0], dense).value(), nf4_linear(inputs[0], weight).value(), "without bias");
  }
}

CONTRACT(NF4_3_only_the_input_and_a_bias_have_gradients) {
  const Nf4 weight = kernels::quantise(drawn({7, 9}, 2, device), {.block = 32});
  const Variable x = Variable::leaf(drawn({3, 9}, 1, device)), bias = Variable::leaf(drawn({7}, 3, device));
  nf4_linear(x, weight, bias).backward(drawn({3, 7}, 4, device));
  BOOST_TEST(x.has_pending_gradient());
  BOOST_TEST(bias.has_pending_gradient());
  const Variable data(drawn({3, 9}, 1, device));
  BOOST_TEST(!nf4_linear(data, weight).requires_gradient());
  // An input that is data costs nothing.
  const std::uint64_t before = device_counters(device).launches;
  const Variable y = nf4_linear(data, weight, bias);
  const std::uint64_t forward = device_counters(device).launches - before;
  const Tensor seed = drawn({3, 7}, 4, device);
  y.backward(seed);
  AccessScope counts;
  nf4_linear(data, weight, bias).backward(seed);
  for (const AccessRow& row : counts.rows())
    BOOST_TEST((row.access != Access::launch || row.function != "nf4_linear_gradient"));
  BOOST_TEST(forward == 1u);
}

CONTRACT(LAYER_1_nf4_linear_refuses_shapes_that_do_not_match) {
  const Nf4 weight = kernels::quantise(drawn({5, 4}, 2, device), {});
  check_refused([&] { nf4_linear(drawn({2, 3}, 1, device), weight); }, "LAYER-1", "[2, 3], [5, 4]");
  check_refused([&] { nf4_linear(drawn({2, 4}, 1, device), weight, drawn({4}, 3, device)); }, "LAYER-1", "and [4]");
  check_refused([&] { nf4_linear(drawn({}, 1, device), weight); }, "LAYER-1");
  check_refused([&] { nf4_linear(drawn({2, 4}, 1, reference_device), weight); }, "GRAPH-13");
}

CONTRACT(GRAPH_5_codes_that_were_written_after_the_operation_are_not_used) {
  Nf4 weight = kernels::quantise(drawn({5, 4}, 2, device), {});
  const Variable y = nf4_linear(Variable::leaf(drawn({2, 4}, 1, device)), weight);
  weight.codes.write(std::vector<std::uint8_t>(10));
  check_refused([&] { y.backward(drawn({2, 5}, 3, device)); }, "GRAPH-5", "nf4_linear");
}
