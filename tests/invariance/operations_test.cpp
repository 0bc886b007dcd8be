// Every operation and layer, forward and backward, has the same bits on any threads, in any batch and of any views.
#include <xmmintrin.h>

#include "device/simulated/simt.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "support/operations.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(NUM_1_every_operation_and_its_gradients_have_the_same_bits_on_any_number_of_threads) {
  for (const BatchOperation& operation : batch_operations(device)) {
    const Outcome one = outcome(operation, operation.inputs);
    for (int count : {2, 3, 7}) {
      set_threads(count);
      check_same_bits(one, outcome(operation, operation.inputs),
                      operation.name + " on " + std::to_string(count) + " threads");
    }
    set_threads(1);
  }
}

BOOST_AUTO_TEST_CASE(NUM_1_a_number_of_threads_outside_1_to_1024_is_refused) {
  for (int count : {0, -1, 1025}) check_refused([&] { set_threads(count); }, "NUM-1", std::to_string(count));
  BOOST_TEST(threads() == 1);
}

CONTRACT(NUM_1_a_thread_that_flushes_subnormals_or_rounds_otherwise_computes_nothing) {
  const Tensor x = drawn({3}, 1, device), y = drawn({3}, 2, device);
  const unsigned usual = _mm_getcsr();
  for (unsigned other : {usual | 0x8000u, usual | 0x40u, usual | 0x2000u, usual & ~0x80u}) {
    _mm_setcsr(other);
    std::string refusals[2];
    int at = 0;
    for (auto call : {+[](const Tensor&a, const Tensor&b) { kernels::add(a, b); },
                      +[](const Tensor&, const Tensor&) { set_threads(3); }}) {
      try {
        call(x, y);
      } catch (const Error& error) {
        refusals[at] = error.what();
      }
      ++at;
    }
    _mm_setcsr(usual);
    for (const std::string& refusal : refusals) {
      BOOST_TEST(refusal.find("NUM-1: ") == 0u, refusal);
      BOOST_TEST(refusal.find("MXCSR") != std::string::npos, refusal);
    }
    BOOST_TEST(threads() == 1);
  }
  check_same_bits(kernels::add(x, y), kernels::add(x, y), "afterwards");
}

BOOST_AUTO_TEST_CASE(NUM_8_every_operation_has_the_bits_of_the_cpu_in_blocks_of_any_size_and_lanes_in_any_order) {
  using simt::LaneOrder;
  const std::vector<BatchOperation> operations = batch_operations(simulated), on_cpu = batch_operations(cpu);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Outcome expected = outcome(on_cpu[i], on_cpu[i].inputs);
    for (const auto& [lanes, order] : {std::pair(32u, LaneOrder::shuffled), std::pair(32u, LaneOrder::descending),
                                       std::pair(64u, LaneOrder::shuffled), std::pair(256u, LaneOrder::descending),
                                       std::pair(1024u, LaneOrder::shuffled), std::pair(1024u, LaneOrder::ascending)}) {
      const simt::BlockSizeScope blocks(lanes);
      const simt::LaneOrderScope lane_order(order, lanes);
      check_same_bits(expected, outcome(operations[i], operations[i].inputs),
                      operations[i].name + " in blocks of " + std::to_string(lanes));
    }
  }
}

CONTRACT(NUM_3_a_sample_has_the_same_bits_alone_and_in_any_batch) {
  for (const BatchOperation& operation : batch_operations(device)) {
    if (operation.per_sample.empty()) continue;
    const Outcome whole = outcome(operation, operation.inputs);
    const Tensor seed = drawn(whole.value.shape(), 99, 0.5, 1.5, device);
    struct Part {
      std::int64_t first, rows;
    };
    for (const Part& part : std::vector<Part>{{0, 1}, {1, 1}, {batch_rows - 1, 1}, {3, 2}, {5, 33}}) {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < operation.inputs.size(); ++i)
        inputs.push_back(operation.per_sample[i] ? rows_from(operation.inputs[i], part.first, part.rows)
                                                 : operation.inputs[i]);
      const Outcome found = outcome(operation, inputs, part.first, rows_from(seed, part.first, part.rows));
      const std::string what =
          operation.name + ", " + std::to_string(part.rows) + " from sample " + std::to_string(part.first);
      check_same_bits(rows_from(whole.value, part.first, part.rows), found.value, what + ", value");
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (operation.per_sample[i])
          check_same_bits(rows_from(whole.gradients[i], part.first, part.rows), found.gradients[i],
                          what + ", gradient " + std::to_string(i));
    }
  }
}

CONTRACT(NUM_4_every_operation_and_its_gradients_have_the_bits_of_contiguous_copies_over_any_views) {
  for (const BatchOperation& operation : batch_operations(device)) {
    std::vector<Tensor> contiguous, turned, repeated, copies;
    for (const Tensor& input : operation.inputs) {
      contiguous.push_back(kernels::copy(input));
      turned.push_back(strided(input));
      repeated.push_back(rows_from(input, 1, 1).expand(input.shape()));
      copies.push_back(kernels::copy(repeated.back()));
    }
    check_same_bits(outcome(operation, contiguous), outcome(operation, turned), operation.name + " of turned slices");
    check_same_bits(outcome(operation, copies), outcome(operation, repeated), operation.name + " of repeated rows");
  }
}
