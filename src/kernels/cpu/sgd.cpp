// Stochastic gradient descent, element by element.
#include "kernels/sgd.hpp"

#include "kernels/cpu/all_finite.hpp"
#include "kernels/cpu/runs.hpp"
#include "numerics/sgd.hpp"

namespace assay::kernels::ASSAY_ISA {
void sgd_is_finite(View<const float> w, View<const float> u, View<const float> g, SgdScalars scalars,
                   View<std::uint64_t> slot) {
  AllFinite checked;
  for_each_run(
      [&](std::int64_t, std::int64_t count, auto w_run, auto u_run, auto g_run) {
        checked.look(count, [&](std::int64_t i) {
          auto e = numerics::sgd(w_run[i], u_run[i], g_run[i], scalars);
          return zero_if_finite(e.w) | zero_if_finite(e.u);
        });
      },
      w, u, g);
  *slot.data = checked.all;
}

void sgd(View<float> w, View<float> u, View<const float> g, SgdScalars scalars, View<const std::uint64_t> go) {
  if (*go.data != 1) return;
  for_each_run(
      [=](std::int64_t, std::int64_t count, auto w_run, auto u_run, auto g_run) {
        for (std::int64_t i = 0; i < count; ++i) {
          auto e = numerics::sgd(w_run[i], u_run[i], g_run[i], scalars);
          w_run[i] = e.w;
          u_run[i] = e.u;
        }
      },
      w, u, g);
}

}  // namespace assay::kernels::ASSAY_ISA
