// Adam, element by element.
#include "kernels/adam.hpp"

#include "kernels/cpu/all_finite.hpp"
#include "kernels/cpu/runs.hpp"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

struct Element {
  float w, m, v;
};

ASSAY_INLINE Element next(float w, float m, float v, float g, const AdamScalars& s) {
  g = s.decay == 0 ? g : numerics::fma(s.decay, w, g);
  m = numerics::fma(s.beta1, m, s.rest1 * g);
  v = numerics::fma(s.beta2, v, s.rest2 * g * g);
  w = w * s.keep - s.rate * (m / numerics::fma(__builtin_sqrtf(v), s.scale, s.epsilon));
  return {w, m, v};
}

}  // namespace

bool adam_is_finite(View<const float> w, View<const float> m, View<const float> v, View<const float> g,
                    AdamScalars scalars) {
  AllFinite checked;
  for_each_run(
      [&](std::int64_t, std::int64_t count, auto w_run, auto m_run, auto v_run, auto g_run) {
        checked.look(count, [&](std::int64_t i) {
          Element e = next(w_run[i], m_run[i], v_run[i], g_run[i], scalars);
          return zero_if_finite(e.w) | zero_if_finite(e.m) | zero_if_finite(e.v);
        });
      },
      w, m, v, g);
  return checked.all;
}

void adam(View<float> w, View<float> m, View<float> v, View<const float> g, AdamScalars scalars) {
  for_each_run(
      [=](std::int64_t, std::int64_t count, auto w_run, auto m_run, auto v_run, auto g_run) {
        for (std::int64_t i = 0; i < count; ++i) {
          Element e = next(w_run[i], m_run[i], v_run[i], g_run[i], scalars);
          w_run[i] = e.w;
          m_run[i] = e.m;
          v_run[i] = e.v;
        }
      },
      w, m, v, g);
}

}  // namespace assay::kernels::ASSAY_ISA
