// The elementary functions of the profile fast: libm's, whose bits change with its version.
#pragma once

#include <cmath>

#include "numerics/isa.hpp"

// Only the kernel builds with -DASSAY_FAST see this header: there it stands for exp.hpp, log.hpp, tanh.hpp, sigmoid.hpp
// and erf.hpp.
namespace assay::numerics {
inline namespace ASSAY_ISA {

ASSAY_INLINE float exp(float x) { return std::exp(x); }
ASSAY_INLINE float log(float x) { return std::log(x); }
ASSAY_INLINE float tanh(float x) { return std::tanh(x); }
ASSAY_INLINE float erf(float x) { return std::erf(x); }

/// 1 / (1 + e⁻ˣ), a few units in the last place off; +0 from where e⁻ˣ overflows (x < −88.7).
ASSAY_INLINE float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
