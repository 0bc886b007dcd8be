// One step by stochastic gradient descent.
#pragma once

#include <vector>

#include "base/sabotage.hpp"
#include "kernels/record.hpp"
#include "numerics/sgd.hpp"
#include "reference/sgd.hpp"

namespace assay::kernels {

/// What one update depends on besides the tensors.
struct SgdStep {
  double learning_rate, momentum, weight_decay;
  bool nesterov;
};

using numerics::SgdScalars;
/// The same as the kernel reads it.
inline SgdScalars rounded(const SgdStep& s) {
  return {static_cast<float>(s.learning_rate), static_cast<float>(s.momentum), static_cast<float>(s.weight_decay),
          s.nesterov};
}

ASSAY_DECLARE_KERNEL(void sgd_is_finite(View<const float> w, View<const float> u, View<const float> g,
                                        SgdScalars scalars, View<std::uint64_t> slot))
/// Writes if `go` holds a 1.
ASSAY_DECLARE_KERNEL(void sgd(View<float> w, View<float> u, View<const float> g, SgdScalars scalars,
                              View<const std::uint64_t> go))

/// One parameter's part of a step: the value w, its velocity u and its gradient g, of one shape.
struct SgdUpdate {
  Tensor w, u, g;
  SgdStep step;
};

inline reference::SgdArrays oracle_sgd(const SgdUpdate& update) {
  const SgdStep& s = update.step;
  return reference::sgd({oracle_operand(update.w), oracle_operand(update.u)}, oracle_operand(update.g), s.learning_rate,
                        s.momentum, s.weight_decay, s.nesterov);
}

/// Sets a slot for each update: 1 when every element that `sgd` would write is finite, else 0. All are on one device.
/// Nothing else is written.
inline void sgd_is_finite(const std::vector<SgdUpdate>& updates, const Tensor& slots) {
  if (slots.device() == reference_device) {
    std::vector<std::uint64_t> finite;
    for (const SgdUpdate& update : updates) finite.push_back(reference::finite(oracle_sgd(update)));
    write_slots(slots, finite);
    return;
  }
  auto look = [&](Device device, View<std::uint64_t> finite) {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const SgdUpdate& update = updates[i];
      ASSAY_KERNEL(sgd_is_finite)
      (device, operand(update.w), operand(update.u), operand(update.g), rounded(update.step), slot_of(finite, i));
    }
  };
  launch(slots.device(), named("sgd_is_finite", look), Slot{slots});
}

/// Updates every w and u in place, in one launch, if `finite`, which `sgd_is_finite` has filled, holds a 1 for each,
/// else nothing. Whatever is refused is refused before the first write. The writes are not counted, except on the
/// reference device. All are on one device. The formula stands in optim/sgd.hpp.
inline void sgd(const std::vector<SgdUpdate>& updates, const Tensor& finite) {
  if (finite.device() == reference_device) {
    if (!all_set(finite.read<std::uint64_t>().data(), updates.size())) return;
    std::vector<reference::SgdArrays> next;
    for (const SgdUpdate& update : updates) next.push_back(oracle_sgd(update));
    for (std::size_t i = 0; i < updates.size(); ++i) {
      Tensor(updates[i].w).write(next[i].w.values);
      Tensor(updates[i].u).write(next[i].u.values);
    }
    return;
  }
  for (const SgdUpdate& update : updates)
    for (const Tensor& tensor : {update.w, update.u, update.g}) require_operand(tensor);
  auto update_all = [&](Device device, View<const std::uint64_t> flags, View<std::uint64_t> go) {
    flags.extent[0] = sabotaged("step_writes_as_it_looks") ? 0 : static_cast<std::int64_t>(updates.size());
    ASSAY_KERNEL(all_set)(device, flags, go);
    for (const SgdUpdate& update : updates) ASSAY_KERNEL(sgd)
    (device, operand(OutUncounted{update.w}), operand(OutUncounted{update.u}), operand(update.g), rounded(update.step),
     View<const std::uint64_t>{go.data});
  };
  launch(finite.device(), named("sgd", update_all), As<std::uint64_t>{finite}, Slot{Record(finite.device(), 1).all()});
}

}  // namespace assay::kernels
