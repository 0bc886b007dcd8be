// AllFinite: whether every number that a loop computes is finite.
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/isa.hpp"

namespace assay::kernels::ASSAY_ISA {

/// 0 exactly when x is finite: x − x is then +0, and NaN otherwise. Integers, so that a loop can OR them in vectors.
ASSAY_INLINE std::uint32_t zero_if_finite(float x) { return std::bit_cast<std::uint32_t>(x - x); }

/// The AND over loops on several threads.
struct AllFinite {
  bool all = true;

  template <class Term>
  ASSAY_INLINE void look(std::int64_t count, Term term) {
    std::uint32_t seen = 0;
    for (std::int64_t i = 0; i < count; ++i) seen |= term(i);
    if (seen != 0) __atomic_store_n(&all, false, __ATOMIC_RELAXED);
  }
};

}  // namespace assay::kernels::ASSAY_ISA
