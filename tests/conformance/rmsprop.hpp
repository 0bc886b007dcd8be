// RMSProp with kernels of its own: what a user of the library might write.
#pragma once

#include "kernels/own.hpp"
#include "kernels/record.hpp"
#include "optim/optimiser.hpp"

namespace example {

struct RmsPropScalars {
  float rate, decay, epsilon;
};

/// A slot that says whether all that `rmsprop` would write is finite.
ASSAY_DECLARE_OWN_KERNEL(void rmsprop_is_finite(assay::View<const float> w, assay::View<const float> v,
                                                assay::View<const float> g, RmsPropScalars scalars,
                                                assay::View<std::uint64_t> slot))
/// Writes if `go` holds a 1.
ASSAY_DECLARE_OWN_KERNEL(void rmsprop(assay::View<float> w, assay::View<float> v, assay::View<const float> g,
                                      RmsPropScalars scalars, assay::View<const std::uint64_t> go))

/// v = ρ·v + (1 − ρ)·g², w = w − η·g ÷ (√v + ε), on devices of 32 bits. Source: Hinton, "Neural networks for machine
/// learning", lecture 6 (2012).
class RmsProp final : public assay::Optimiser {
 public:
  explicit RmsProp(assay::ParameterList parameters, float decay = 0.9f, float epsilon = 1e-6f)
      : Optimiser("rmsprop", {{std::move(parameters), 0, false}}, {{"mean_square", true}}),
        decay_(decay),
        epsilon_(epsilon) {}

 private:
  RmsPropScalars scalars(const Step& step) const { return {static_cast<float>(step.learning_rate), decay_, epsilon_}; }

  void look(const Step& step) const override {
    using namespace assay;
    using namespace assay::kernels;
    const auto look_at_all = [&](Device device, View<std::uint64_t> finite) {
      for (std::size_t i = 0; i < step.updates.size(); ++i) {
        const Update& update = step.updates[i];
        const Parameter& parameter = *update.parameter.parameter;
        ASSAY_OWN_KERNEL(rmsprop_is_finite)
        (device, operand(parameter.value()), operand(update.state[0][0]), operand(parameter.gradient()), scalars(step),
         slot_of(finite, i));
      }
    };
    launch(step.slots.device(), named("rmsprop_is_finite", look_at_all), kernels::Slot{step.slots});
  }

  void update(const Step& step) const override {
    using namespace assay;
    using namespace assay::kernels;
    struct Operands {
      View<float> w, v;
      View<const float> g;
    };
    std::vector<Operands> all;
    for (const Update& update : step.updates) {
      const Parameter& parameter = *update.parameter.parameter;
      all.push_back({operand(OutUncounted{parameter.value()}), operand(OutUncounted{update.state[0][0]}),
                     operand(parameter.gradient())});
    }
    const auto write_all = [&](Device device, View<const std::uint64_t> finite, View<std::uint64_t> go) {
      finite.extent[0] = static_cast<std::int64_t>(all.size());
      ASSAY_KERNEL(all_set)(device, finite, go);
      for (const Operands& of : all)
        ASSAY_OWN_KERNEL(rmsprop)(device, of.w, of.v, of.g, scalars(step), View<const std::uint64_t>{go.data});
    };
    const Device device = step.slots.device();
    launch(device, named("rmsprop", write_all), As<std::uint64_t>{step.slots}, kernels::Slot{Record(device, 1).all()});
  }

  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }

  float decay_, epsilon_;
};

}  // namespace example
