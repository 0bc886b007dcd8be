// RMSProp with a kernel of its own: what a user of the library might write.
#pragma once

#include <cmath>

#include "kernels/record.hpp"
#include "optim/optimiser.hpp"

namespace example {

/// Element n of a view, counted row-major.
template <class T>
T& element(const assay::View<T>& view, std::int64_t n) {
  std::int64_t place = 0;
  for (int axis = view.rank; axis-- > 0; n /= view.extent[axis]) place += n % view.extent[axis] * view.stride[axis];
  return view.data[place];
}

/// v = ρ·v + (1 − ρ)·g², w = w − η·g ÷ (√v + ε). Source: Hinton, "Neural networks for machine learning", lecture 6
/// (2012).
class RmsProp final : public assay::Optimiser {
 public:
  explicit RmsProp(assay::ParameterList parameters, float decay = 0.9f, float epsilon = 1e-6f)
      : Optimiser("rmsprop", {{std::move(parameters), 0}}, {{"mean_square", true}}), decay_(decay), epsilon_(epsilon) {}

 private:
  struct Result {
    float w, v;
  };
  Result result(float w, float v, float g, float rate) const {
    v = decay_ * v + (1 - decay_) * g * g;
    return {w - rate * g / (std::sqrt(v) + epsilon_), v};
  }

  // First looks at every result, then writes all in one launch, so that nothing is written when anything fails.
  std::size_t apply(const std::vector<Update>& updates, double learning_rate, std::uint64_t) const override {
    using namespace assay;
    using namespace assay::kernels;
    if (updates.empty()) return 0;
    const float rate = static_cast<float>(learning_rate);
    const Device device = updates[0].parameter.parameter->value().device();
    std::vector<Tensor> w, v, g;
    for (const Update& update : updates) {
      w.push_back(update.parameter.parameter->value());
      v.push_back(update.state[0][0]);
      g.push_back(update.parameter.parameter->gradient());
    }
    const std::size_t finite = first_not_finite(updates.size(), [&](const Tensor& slots) {
      const auto look = [&](View<std::uint64_t> finite) {
        for (std::size_t i = 0; i < w.size(); ++i) {
          const auto from = operand(w[i]), mean = operand(v[i]), gradient = operand(g[i]);
          finite.data[i] = 1;
          for (std::int64_t n = 0; n < w[i].size(); ++n) {
            const Result to = result(element(from, n), element(mean, n), element(gradient, n), rate);
            if (!std::isfinite(to.w) || !std::isfinite(to.v)) finite.data[i] = 0;
          }
        }
      };
      launch(device, named("rmsprop_is_finite", look), kernels::Slot{slots});
    });
    if (finite < updates.size()) return finite;
    launch(device, named("rmsprop", [&] {
             for (std::size_t i = 0; i < w.size(); ++i) {
               const auto to = operand(Out{w[i]}), mean = operand(Out{v[i]});
               const auto gradient = operand(g[i]);
               for (std::int64_t n = 0; n < w[i].size(); ++n) {
                 const Result next = result(element(to, n), element(mean, n), element(gradient, n), rate);
                 element(to, n) = next.w;
                 element(mean, n) = next.v;
               }
             }
           }));
    return finite;
  }
  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }

  float decay_, epsilon_;
};

}  // namespace example
