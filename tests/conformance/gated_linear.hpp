// A gate with a gradient rule of its own, and a module that uses it: what a user of the library might write.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/multiply.hpp"
#include "kernels/sigmoid.hpp"
#include "nn/linear.hpp"

namespace example {

/// a·σ(b), of one shape. The gradient by a is g·σ(b), by b it is (g·a)·σ(b)·(1 − σ(b)).
inline assay::Variable gate(const assay::Variable& a, const assay::Variable& b) {
  using namespace assay;
  const Tensor open = kernels::sigmoid(b.value());
  return custom_gradient("gate", kernels::multiply(a.value(), open), {a, b},
                         [a = a.value(), open](const Tensor& upstream, const std::vector<bool>& needed) {
                           std::vector<Tensor> gradients(2);
                           if (needed[0]) gradients[0] = kernels::multiply(upstream, open);
                           if (needed[1])
                             gradients[1] = kernels::sigmoid_gradient(open, kernels::multiply(upstream, a));
                           return gradients;
                         });
}

/// y = (xVᵀ + a)·σ(xWᵀ + b), x [B, in] → [B, out].
class GatedLinear final : public assay::Module {
 public:
  GatedLinear(std::int64_t in, std::int64_t out, const assay::Random& random)
      : value_(in, out, random["value"]), gate_(in, out, random["gate"]) {
    register_module("value", value_);
    register_module("gate", gate_);
  }
  assay::Variable forward(const assay::Variable& x) const { return gate(value_.forward(x), gate_.forward(x)); }

 private:
  assay::Linear value_, gate_;
};

}  // namespace example
