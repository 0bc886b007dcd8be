// What every operation promises, checked for one of them: values and gradients against the oracle, views, threads.
#pragma once

#include <string>
#include <vector>

#include "conformance/operation.hpp"
#include "device/cpu/thread_pool.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"

namespace assay::test {

using conformance::Operation;
using conformance::Outcome;
using conformance::outcome;
using conformance::strided;

inline void check_same_bits(const Outcome& expected, const Outcome& found, const std::string& what) {
  const std::string difference = conformance::difference(expected, found);
  BOOST_TEST(difference.empty(), what << ": " << difference);
}

/// Checks with `inputs` moved to the device:
/// - value and gradients are within `ulps` (of the largest element) of the float64 oracle's;
/// - the oracle's gradients are the central differences of its values (skipped with `kinks`);
/// - strided views and 2, 3 and 7 threads give the bits of contiguous operands on one thread (GRAPH-12, NUM-1, NUM-4).
inline void check_operation(Device device, const std::string& name, const Operation& operation,
                            std::vector<Tensor> inputs, double ulps = 4, bool kinks = false) {
  for (Tensor& input : inputs) input = input.to(device);
  Outcome found = outcome(operation, inputs);
  std::vector<Tensor> wide, views;
  for (const Tensor& input : inputs) {
    wide.push_back(input.to(reference_device));
    views.push_back(strided(input));
  }
  Outcome oracle = outcome(operation, wide);
  check_close_to_oracle(oracle.value, found.value, ulps, name + ", value");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_close_to_oracle(oracle.gradients[i], found.gradients[i], ulps, name + ", gradient " + std::to_string(i));

  check_same_bits(found, outcome(operation, views), name + " of strided views");
  for (int count : {2, 3, 7}) {
    set_threads(count);
    check_same_bits(found, outcome(operation, inputs), name + " on " + std::to_string(count) + " threads");
  }
  set_threads(1);

  if (kinks) return;
  auto loss = [&](const std::vector<Tensor>& at) {
    std::vector<Variable> data(at.begin(), at.end());
    Variable result = operation(data);
    std::vector<double> values = doubles(result.value()), weights = doubles(drawn(result.shape(), 99, 0.5, 1.5));
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) total += values[i] * weights[i];
    return total;
  };
  for (std::size_t i = 0; i < wide.size(); ++i) {
    std::vector<double> values = doubles(wide[i]), expected = doubles(oracle.gradients[i]);
    double largest = 0;
    for (double gradient : expected) largest = std::max({largest, gradient, -gradient});
    std::size_t step_over = values.size() / 50 + 1;  // a sample of a large tensor
    for (std::size_t k = 0; k < values.size(); k += step_over) {
      constexpr double step = 1e-5;
      auto at = [&](double moved) {
        std::vector<double> other = values;
        other[k] = moved;
        std::vector<Tensor> tensors = wide;
        tensors[i] = Tensor::from(other, wide[i].shape(), reference_device);
        return loss(tensors);
      };
      double slope = (at(values[k] + step) - at(values[k] - step)) / (2 * step);
      double difference = slope - expected[k];
      BOOST_TEST(std::max(difference, -difference) <= 1e-6 * std::max(1.0, largest),
                 name << ": gradient " << i << " element " << k << ": the oracle's rule gives " << expected[k]
                      << ", central differences " << slope);
    }
  }
}

}  // namespace assay::test
