// Rows of root mean square 1, with kernels and a gradient rule of its own: what a user of the library might write.
#pragma once

#include <cmath>

#include "autograd/variable.hpp"
#include "kernels/copy.hpp"
#include "kernels/own.hpp"

namespace example {

/// Every operand is contiguous.
ASSAY_DECLARE_OWN_KERNEL(void rms_norm(assay::View<const float> x, float epsilon, assay::View<float> y))
ASSAY_DECLARE_OWN_KERNEL(void rms_norm_gradient(assay::View<const float> x, assay::View<const float> upstream,
                                                float epsilon, assay::View<float> gradient))

/// The same in float64, in plain loops: what the kernels are compared with.
namespace oracle {

using assay::reference::Array;

/// Calls work(begin, end, r) for each row of x, r = 1 ÷ √(mean(x²) + ε).
template <class Work>
void each_row(const Array& x, double epsilon, Work work) {
  const std::int64_t length = row_length(x);
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    double squares = 0;
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) squares += x[i] * x[i];
    work(row * length, (row + 1) * length, 1 / std::sqrt(squares / static_cast<double>(length) + epsilon));
  }
}

inline Array rms_norm(const Array& x, double epsilon) {
  Array y = x;
  each_row(x, epsilon, [&](std::int64_t begin, std::int64_t end, double r) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] * r;
  });
  return y;
}

/// Σⱼ gⱼ·∂yⱼ/∂xᵢ with ∂yⱼ/∂xᵢ = r·[i = j] − xᵢ·xⱼ·r³ ÷ n, g the upstream gradient.
inline Array rms_norm_gradient(const Array& x, const Array& upstream, double epsilon) {
  Array gradient = assay::reference::zeros(x.shape);
  each_row(x, epsilon, [&](std::int64_t begin, std::int64_t end, double r) {
    const double share = r * r * r / static_cast<double>(end - begin);
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = begin; j < end; ++j) gradient[i] += upstream[j] * ((i == j) * r - x[i] * x[j] * share);
  });
  return gradient;
}

}  // namespace oracle

/// y = x·r along the last axis, r = 1 ÷ √(mean(x²) + ε). Errors: ACC-4 for a scalar.
inline assay::Variable rms_norm(const assay::Variable& variable, float epsilon = 1e-5f) {
  using namespace assay;
  variable.shape().index(-1);
  const Tensor x = kernels::contiguous(variable.value());
  Tensor y = kernels::run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_OWN_KERNEL(rms_norm), oracle::rms_norm, x,
                          epsilon);
  return custom_gradient("rms_norm", y, {variable}, [x, epsilon](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_OWN_KERNEL(rms_norm_gradient),
                                    oracle::rms_norm_gradient, x, kernels::contiguous(upstream), epsilon)};
  });
}

}  // namespace example
