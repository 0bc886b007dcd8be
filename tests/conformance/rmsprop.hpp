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
      : Optimiser("rmsprop", {{std::move(parameters), 0, false}}, {{"mean_square", true}}),
        decay_(decay),
        epsilon_(epsilon) {}

 private:
  struct Result {
    float w, v;
  };
  Result result(float w, float v, float g, const Step& step) const {
    const float rate = static_cast<float>(step.learning_rate);
    v = decay_ * v + (1 - decay_) * g * g;
    return {w - rate * g / (std::sqrt(v) + epsilon_), v};
  }

  struct Operands {
    assay::View<float> w, v;
    assay::View<const float> g;
    std::int64_t size;
  };
  static std::vector<Operands> operands(const Step& step) {
    using namespace assay::kernels;
    std::vector<Operands> all;
    for (const Update& update : step.updates) {
      const assay::Parameter& parameter = *update.parameter.parameter;
      all.push_back({operand(OutUncounted{parameter.value()}), operand(OutUncounted{update.state[0][0]}),
                     operand(parameter.gradient()), parameter.value().size()});
    }
    return all;
  }

  void look(const Step& step) const override {
    using namespace assay::kernels;
    const auto judge = [&](assay::View<std::uint64_t> finite) {
      std::uint64_t* slot = finite.data;
      for (const auto& [w, v, g, size] : operands(step)) {
        *slot = 1;
        for (std::int64_t n = 0; n < size; ++n) {
          const Result to = result(element(w, n), element(v, n), element(g, n), step);
          if (!std::isfinite(to.w) || !std::isfinite(to.v)) *slot = 0;
        }
        ++slot;
      }
    };
    launch(step.slots.device(), named("rmsprop_is_finite", judge), assay::kernels::Slot{step.slots});
  }

  void update(const Step& step) const override {
    using namespace assay::kernels;
    const std::vector<Operands> all = operands(step);
    const auto write = [&](assay::View<const std::uint64_t> finite) {
      if (!all_set(finite.data, all.size())) return;
      for (const auto& [w, v, g, size] : all)
        for (std::int64_t n = 0; n < size; ++n) {
          const Result to = result(element(w, n), element(v, n), element(g, n), step);
          element(w, n) = to.w;
          element(v, n) = to.v;
        }
    };
    launch(step.slots.device(), named("rmsprop", write), As<std::uint64_t>{step.slots});
  }

  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }

  float decay_, epsilon_;
};

}  // namespace example
