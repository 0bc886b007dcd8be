// Operations whose kernels each have a mistake.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "kernels/own.hpp"

namespace example {

/// Which lanes wait for the others.
enum class Barrier { for_all, none, for_some };

/// y[i] = x[i] + x[i + distance] in each row, where there is such a neighbour. Every operand is contiguous.
ASSAY_DECLARE_OWN_KERNEL(void beside(assay::View<const float> x, int distance, Barrier barrier, assay::View<float> y))
/// y = 2·x, but the last lane of a row clears the place behind it.
ASSAY_DECLARE_OWN_KERNEL(void beyond(assay::View<const float> x, assay::View<float> y))

inline assay::Tensor beside(const assay::Tensor& x, int distance, Barrier barrier) {
  using namespace assay;
  const auto oracle = [](const reference::Array& from, int shift, Barrier) {
    reference::Array y = from;
    const std::int64_t length = row_length(from);
    for (std::int64_t i = 0; i < y.size(); ++i)
      if (const std::int64_t other = i % length + shift; other >= 0 && other < length) y[i] += from[i + shift];
    return y;
  };
  return kernels::run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_OWN_KERNEL(beside), oracle,
                      kernels::contiguous(x), distance, barrier);
}

/// Each element and the one before it in its row.
inline assay::Variable beside(const assay::Variable& x, Barrier barrier) {
  using namespace assay;
  return custom_gradient("beside", beside(x.value(), -1, barrier), {x},
                         [](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{beside(upstream, 1, Barrier::for_all)};
                         });
}

inline assay::Variable beyond(const assay::Variable& x) {
  using namespace assay;
  const auto oracle = [](const reference::Array& from) { return map(from, [](double value) { return 2 * value; }); };
  return custom_gradient("beyond",
                         kernels::run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_OWN_KERNEL(beyond), oracle,
                                      kernels::contiguous(x.value())),
                         {x}, [](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::add(upstream, upstream)};
                         });
}

}  // namespace example
