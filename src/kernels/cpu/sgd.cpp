// Stochastic gradient descent, element by element.
#include "kernels/sgd.hpp"

#include "kernels/cpu/all_finite.hpp"
#include "kernels/cpu/runs.hpp"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

struct Element {
  float w, u;
};

ASSAY_INLINE Element next(float w, float u, float g, const SgdScalars& s) {
  g = s.decay == 0 ? g : numerics::fma(s.decay, w, g);
  u = numerics::fma(s.momentum, u, g);
  float direction = s.nesterov ? numerics::fma(s.momentum, u, g) : u;
  return {w - s.rate * direction, u};
}

}  // namespace

bool sgd_is_finite(View<const float> w, View<const float> u, View<const float> g, SgdScalars scalars) {
  AllFinite checked;
  for_each_run(
      [&](std::int64_t, std::int64_t count, auto w_run, auto u_run, auto g_run) {
        checked.look(count, [&](std::int64_t i) {
          Element e = next(w_run[i], u_run[i], g_run[i], scalars);
          return zero_if_finite(e.w) | zero_if_finite(e.u);
        });
      },
      w, u, g);
  return checked.all;
}

void sgd(View<float> w, View<float> u, View<const float> g, SgdScalars scalars) {
  for_each_run(
      [=](std::int64_t, std::int64_t count, auto w_run, auto u_run, auto g_run) {
        for (std::int64_t i = 0; i < count; ++i) {
          Element e = next(w_run[i], u_run[i], g_run[i], scalars);
          w_run[i] = e.w;
          u_run[i] = e.u;
        }
      },
      w, u, g);
}

}  // namespace assay::kernels::ASSAY_ISA
