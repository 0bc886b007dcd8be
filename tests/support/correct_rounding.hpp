// The correctly rounded elementary functions, by MPFR, against which Assay's own are checked.
#pragma once

#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/cos.hpp"
#include "numerics/erf.hpp"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "numerics/rsqrt.hpp"
#include "numerics/sigmoid.hpp"
#include "numerics/tanh.hpp"

namespace assay::test {

struct ElementaryFunction {
  const char* name;
  float (*ours)(float);
  double (*platform)(double);
  void (*exact)(mpfr_t result, const mpfr_t x);
};

inline void exact_sigmoid(mpfr_t result, const mpfr_t x) {
  mpfr_neg(result, x, MPFR_RNDN);
  mpfr_exp(result, result, MPFR_RNDN);
  mpfr_add_ui(result, result, 1, MPFR_RNDN);
  mpfr_ui_div(result, 1, result, MPFR_RNDN);
}

template <int (*function)(mpfr_t, mpfr_srcptr, mpfr_rnd_t)>
void exact(mpfr_t result, const mpfr_t x) {
  function(result, x, MPFR_RNDN);
}

inline const ElementaryFunction elementary_functions[] = {
    {"exp", numerics::exp, [](double x) { return std::exp(x); }, exact<mpfr_exp>},
    {"log", numerics::log, [](double x) { return std::log(x); }, exact<mpfr_log>},
    {"tanh", numerics::tanh, [](double x) { return std::tanh(x); }, exact<mpfr_tanh>},
    {"sigmoid", numerics::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, exact_sigmoid},
    {"erf", numerics::erf, [](double x) { return std::erf(x); }, exact<mpfr_erf>},
    {"rsqrt", numerics::rsqrt, [](double x) { return 1 / std::sqrt(x); }, exact<mpfr_rec_sqrt>},
    {"cos", numerics::cos, [](double x) { return std::cos(x); }, exact<mpfr_cos>},
    {"sin", numerics::sin, [](double x) { return std::sin(x); }, exact<mpfr_sin>},
};

/// The correctly rounded value by MPFR with 300 bits. rsqrt(−0) is −∞ (IEEE 754), where MPFR says +∞.
inline float rounded_by_mpfr(const ElementaryFunction& function, float x) {
  if (function.exact == exact<mpfr_rec_sqrt> && x == 0) return 1 / x;
  mpfr_t value;
  mpfr_init2(value, 300);
  mpfr_set_flt(value, x, MPFR_RNDN);
  function.exact(value, value);
  const float result = mpfr_get_flt(value, MPFR_RNDN);
  mpfr_clear(value);
  return result;
}

/// The same, asking MPFR only where the platform's binary64 value ± 2⁻⁴⁶ of it does not decide (libm states 2⁻⁵⁰).
inline float correctly_rounded(const ElementaryFunction& function, float x, std::uint64_t* asked_mpfr = nullptr) {
  const double candidate = function.platform(x);
  const float lower = static_cast<float>(candidate * (1 - 0x1p-46));
  const float upper = static_cast<float>(candidate * (1 + 0x1p-46));
  if (numerics::canonical_bits(lower) == numerics::canonical_bits(upper)) return lower;
  if (asked_mpfr) ++*asked_mpfr;
  return rounded_by_mpfr(function, x);
}

}  // namespace assay::test
