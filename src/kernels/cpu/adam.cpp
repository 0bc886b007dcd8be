// Adam, element by element.
#include "kernels/adam.hpp"

#include <bit>

#include "kernels/cpu/all_finite.hpp"
#include "kernels/cpu/runs.hpp"
#include "numerics/adam.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

// Bounds below which, with usual scalars, no result can overflow: then nothing needs to be computed to know it.
constexpr float usual = 0x1p60f, usual_square = 0x1p100f;

// Whether all results are finite when |w|, |m| and |g| are below `usual` and 0 ≤ v < `usual_square`. Each line bounds
// one line of numerics::adam, whose denominator is at least ε.
bool usual_elements_stay_finite(const AdamScalars& s) {
  constexpr double most = 0x1p120;  // binary32 ends at 2¹²⁸
  const auto size = [](float x) { return static_cast<double>(x < 0 ? -x : x); };
  const double g = size(s.decay) * usual + usual;
  const double m = size(s.beta1) * usual + size(s.rest1) * g;
  const double v = size(s.beta2) * usual_square + size(s.rest2) * g * g;
  const double w = size(s.keep) * usual + (size(s.rate) + 1) * (m / size(s.epsilon));
  return g < most && m < most && v < most && w < most && size(s.scale) < most && s.scale >= 0 && s.epsilon > 0;
}

// The top bit is set unless x, taken as an integer, is below `limit`, a positive float.
ASSAY_INLINE std::uint32_t top_bit_unless_below(float limit, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return bits | (std::bit_cast<std::uint32_t>(limit) - 1 - (bits & 0x7fffffffu));
}

bool all_usual(View<const float> w, View<const float> m, View<const float> v, View<const float> g) {
  AllFinite checked;
  for_each_run(
      [&](std::int64_t, std::int64_t count, auto w_run, auto m_run, auto v_run, auto g_run) {
        checked.look(count, [&](std::int64_t i) {
          return (top_bit_unless_below(usual, __builtin_fabsf(w_run[i])) |
                  top_bit_unless_below(usual, __builtin_fabsf(m_run[i])) |
                  top_bit_unless_below(usual, __builtin_fabsf(g_run[i])) |
                  top_bit_unless_below(usual_square, v_run[i])) >>
                 31;
        });
      },
      w, m, v, g);
  return checked.all;
}

}  // namespace

void adam_is_finite(View<const float> w, View<const float> m, View<const float> v, View<const float> g,
                    AdamScalars scalars, bool first, View<std::uint64_t> slot) {
  if (first) *slot.data = 1;
  if (usual_elements_stay_finite(scalars) && all_usual(w, m, v, g)) return;
  AllFinite checked;
  for_each_run(
      [&](std::int64_t, std::int64_t count, auto w_run, auto m_run, auto v_run, auto g_run) {
        checked.look(count, [&](std::int64_t i) {
          auto e = numerics::adam(w_run[i], m_run[i], v_run[i], g_run[i], scalars);
          return zero_if_finite(e.w) | zero_if_finite(e.m) | zero_if_finite(e.v);
        });
      },
      w, m, v, g);
  if (!checked.all) *slot.data = 0;
}

void adam(View<float> w, View<float> m, View<float> v, View<const float> g, AdamScalars scalars,
          View<const std::uint64_t> go) {
  if (*go.data != 1) return;
  for_each_run(
      [=](std::int64_t, std::int64_t count, auto w_run, auto m_run, auto v_run, auto g_run) {
        for (std::int64_t i = 0; i < count; ++i) {
          auto e = numerics::adam(w_run[i], m_run[i], v_run[i], g_run[i], scalars);
          w_run[i] = e.w;
          m_run[i] = e.m;
          v_run[i] = e.v;
        }
      },
      w, m, v, g);
}

}  // namespace assay::kernels::ASSAY_ISA
