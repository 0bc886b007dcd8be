// One step by Adam or AdamW.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sabotage.hpp"
#include "kernels/record.hpp"
#include "numerics/adam.hpp"
#include "numerics/scalar.hpp"
#include "reference/adam.hpp"

namespace assay::kernels {

/// What one update depends on besides the tensors; `step` counts from 1.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  bool decoupled;
  std::uint64_t step;
};

using numerics::AdamScalars;
/// The same as the kernel reads it.
inline AdamScalars rounded(const AdamStep& s) {
  double rate = s.learning_rate / (1 - numerics::power(s.beta1, s.step));
  double scale = 1 / numerics::square_root(1 - numerics::power(s.beta2, s.step));
  double keep = s.decoupled ? 1 - s.learning_rate * s.weight_decay : 1;
  double decay = s.decoupled ? 0 : s.weight_decay;
  auto once = [](double value) { return static_cast<float>(value); };
  return {once(s.beta1), once(1 - s.beta1), once(s.beta2), once(1 - s.beta2), once(rate),
          once(scale),   once(s.epsilon),   once(keep),    once(decay)};
}

/// A slot that says whether all that `adam` would write is finite; what it said before counts too unless this is the
/// `first` of a parameter's pages.
ASSAY_DECLARE_KERNEL(void adam_is_finite(View<const float> w, View<const float> m, View<const float> v,
                                         View<const float> g, AdamScalars scalars, bool first,
                                         View<std::uint64_t> slot))
/// Writes if `go` holds a 1.
ASSAY_DECLARE_KERNEL(void adam(View<float> w, View<float> m, View<float> v, View<const float> g, AdamScalars scalars,
                               View<const std::uint64_t> go))

/// One parameter's part of a step: the value w, its moments and its gradient. The moments stand in pages, which hold
/// the rows of w in order; one page is all of them.
struct AdamUpdate {
  Tensor w;
  std::vector<Tensor> m, v;
  Tensor g;
  AdamStep step;
};

namespace detail {

template <class T>
struct AdamPage {
  View<T> w, m, v;
  View<const float> g;
  AdamScalars scalars;
};

template <class T>
View<T> rows(View<T> view, std::int64_t begin, std::int64_t end) {
  if (view.rank == 0) return view;
  view.data += begin * view.stride[0];
  view.extent[0] = end - begin;
  return view;
}

/// The views of all pages, where `view_of` gives those of w and of the moments.
template <class T, class ViewOf>
void add_pages(std::vector<AdamPage<T>>& pages, const AdamUpdate& update, ViewOf view_of) {
  const View<T> w = view_of(update.w);
  const View<const float> g = operand(update.g);
  const AdamScalars scalars = rounded(update.step);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < update.m.size(); ++i) {
    const std::int64_t end = begin + (w.rank == 0 ? 1 : update.m[i].shape()[0]);
    pages.push_back({rows(w, begin, end), view_of(update.m[i]), view_of(update.v[i]), rows(g, begin, end), scalars});
    begin = sabotaged("pages_overlap") ? begin : end;
  }
}

/// Refuses what cannot be read; nothing is written yet.
inline std::vector<AdamPage<const float>> readable_pages(const std::vector<AdamUpdate>& updates) {
  std::vector<AdamPage<const float>> pages;
  for (const AdamUpdate& update : updates) add_pages(pages, update, [](const Tensor& t) { return operand(t); });
  return pages;
}

inline reference::AdamArrays oracle_adam(const AdamUpdate& u) {
  auto joined = [&](const std::vector<Tensor>& pages) {
    reference::Array whole{u.w.shape().extents(), {}};
    for (const Tensor& page : pages)
      for (double value : oracle_operand(page).values) whole.values.push_back(value);
    return whole;
  };
  const AdamStep& s = u.step;
  return reference::adam({oracle_operand(u.w), joined(u.m), joined(u.v)}, oracle_operand(u.g), s.learning_rate, s.beta1,
                         s.beta2, s.epsilon, s.weight_decay, s.decoupled, s.step);
}

inline void write_pages(std::vector<Tensor> pages, const reference::Array& whole) {
  const double* from = whole.values.data();
  for (Tensor& page : pages) {
    page.write(std::span(from, static_cast<std::size_t>(page.size())));
    from += page.size();
  }
}

}  // namespace detail

/// Sets a slot for each update: 1 when every element that `adam` would write is finite, else 0. All are on one device.
/// Nothing else is written.
inline void adam_is_finite(const std::vector<AdamUpdate>& updates, const Tensor& slots) {
  if (slots.device() == reference_device) {
    std::vector<std::uint64_t> finite;
    for (const AdamUpdate& update : updates) finite.push_back(reference::finite(detail::oracle_adam(update)));
    write_slots(slots, finite);
    return;
  }
  const std::vector<detail::AdamPage<const float>> pages = detail::readable_pages(updates);
  auto look = [&](Device device, View<std::uint64_t> finite) {
    const auto* page = pages.data();
    for (std::size_t i = 0; i < updates.size(); ++i)
      for (std::size_t p = 0; p < updates[i].m.size(); ++p, ++page) ASSAY_KERNEL(adam_is_finite)
    (device, page->w, page->m, page->v, page->g, page->scalars, p == 0, slot_of(finite, i));
  };
  launch(slots.device(), named("adam_is_finite", look), Slot{slots});
}

/// Updates every w, m and v in place, in one launch, if `finite`, which `adam_is_finite` has filled, holds a 1 for
/// each, else nothing. Whatever is refused is refused before the first write. The writes are not counted, except on the
/// reference device. All are on one device; w, g and the joined pages have one shape. The formula stands in
/// optim/adam.hpp.
inline void adam(const std::vector<AdamUpdate>& updates, const Tensor& finite) {
  const Device device = finite.device();
  if (device == reference_device) {
    if (!all_set(finite.read<std::uint64_t>().data(), updates.size())) return;
    std::vector<reference::AdamArrays> next;
    for (const AdamUpdate& update : updates) next.push_back(detail::oracle_adam(update));
    for (std::size_t i = 0; i < updates.size(); ++i) {
      detail::write_pages({updates[i].w}, next[i].w);
      detail::write_pages(updates[i].m, next[i].m);
      detail::write_pages(updates[i].v, next[i].v);
    }
    return;
  }
  std::vector<detail::AdamPage<float>> pages;
  for (const AdamUpdate& update : updates)
    detail::add_pages(pages, update, [](const Tensor& t) { return operand(OutUncounted{t}); });
  auto update_all = [&](Device where, View<const std::uint64_t> flags, View<std::uint64_t> go) {
    flags.extent[0] = sabotaged("step_writes_as_it_looks") ? 0 : static_cast<std::int64_t>(updates.size());
    ASSAY_KERNEL(all_set)(where, flags, go);
    for (const auto& page : pages)
      ASSAY_KERNEL(adam)(where, page.w, page.m, page.v, page.g, page.scalars, View<const std::uint64_t>{go.data});
  };
  launch(device, named("adam", update_all), As<std::uint64_t>{finite}, Slot{Record(device, 1).all()});
}

}  // namespace assay::kernels
