// map: one result element from the operands' elements at the same place, over any strides.
#pragma once

#include "kernels/cpu/runs.hpp"

namespace assay::kernels::ASSAY_ISA {

/// result[i] = f(operands[i]…) for every logical index; the operands have the result's extents.
template <class F, class Result, class... Operand>
void map(F f, View<Result> result, View<Operand>... operands) {
  for_each_run(
      [f](std::int64_t, std::int64_t count, auto to, auto... from) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = f(from[i]...);
      },
      result, operands...);
}

}  // namespace assay::kernels::ASSAY_ISA
