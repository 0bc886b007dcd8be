// gradcheck: gradients compared with central differences of the float64 reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

/// Elements begin … end − 1 of a leaf, row-major, whose gradient is zero by algebra.
struct ZeroGradient {
  std::size_t leaf;
  std::int64_t begin, end;
  std::string reason;
};

/// What is checked: a computation on leaves. It runs on whatever device the leaves' values are on, so other tensors
/// that it uses are made for that device, and it may draw random numbers.
struct GradcheckCase {
  std::string name;
  std::vector<Variable> leaves;
  std::function<Variable()> compute;
  std::vector<ZeroGradient> zeros = {};
};

struct GradcheckResult {
  std::string name;
  double worst_error = 0;  ///< the largest |gradient − difference|, relative to the largest difference of its leaf
  double movement = 0;     ///< the largest change of the loss by one element, of the leaf that moves it least
  std::string complaint;   ///< the first thing that is wrong; empty when the check holds
  bool holds() const { return complaint.empty(); }
};

/// Compares the gradients by every leaf of the loss Σ weight·compute(), the weights drawn and different, with central
/// differences (step 1e-5) that the reference device computes from the same values. Relative to the largest difference
/// of the leaf they may be 2e-5 apart, on the reference device itself 1e-6.
///
/// Also wrong, because then nothing was checked (CHECK-2): the loss does not move on the leaf's own device when an
/// element with a gradient does, the gradient of a whole leaf is about zero, or an element of `zeros` has one.
///
/// Values are perturbed through `edit`. Afterwards, also when `compute` throws, values, gradients, pending flags and
/// random streams have the bits that they had, and versions have risen: older graphs are refused (CHECK-5).
/// Errors: GRAPH-7 for a leaf that is none, and what `compute` throws.
///
///     Variable x = Variable::leaf(Tensor::from<float>({1, 2, 3}, {3}));
///     gradcheck({"exp", {x}, [x] { return exp(x); }}).holds();  // true
GradcheckResult gradcheck(const GradcheckCase& check);

}  // namespace assay
