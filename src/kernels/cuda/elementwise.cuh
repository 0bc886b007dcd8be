// map and for_each: something to do with the elements of several views at the same place, over any strides.
#pragma once

#include <utility>

#include "kernels/cuda/launch.cuh"
#include "kernels/walk.hpp"

namespace assay::kernels {
namespace ASSAY_ISA {

/// A function of elements with the numbers that it captured; no pointers.
template <class F>
struct Function {
  F of;
};

/// to = f(from…).
template <class F>
struct Assign {
  F f;
  template <class Result, class... Operand>
  __device__ void operator()(std::int64_t, Result& to, const Operand&... from) const {
    to = f(from...);
  }
};

template <class F, std::size_t... v, class... T>
__device__ __forceinline__ void call_at(const F& f, std::int64_t index, const std::int64_t* offset,
                                        std::index_sequence<v...>, T*... views) {
  f(index, views[offset[v]]...);
}

template <class F, class... T>
__global__ void each_element(Function<F> f, Walk<sizeof...(T)> walk, T*... views) {
  const std::int64_t i = element();
  if (i >= walk.size) return;
  std::int64_t offset[sizeof...(T)];
  walk.locate(i, offset);
  call_at(f.of, i, offset, std::index_sequence_for<T...>(), views...);
}

/// f(flat index, elements…) for every logical element of views of the same extents, each in a lane of its own.
template <class F, class... T>
void for_each(const char* name, F f, View<T>... views) {
  const int ranks[] = {views.rank...};
  const auto walk = walk_of(0, ranks[0], views...);
  launch<each_element<F, T...>>(name, lane_per(walk.size), Function<F>{f}, walk, views.data...);
}

/// result[i] = f(operands[i]…) for every logical index; the operands have the result's extents.
///
///     map("exp", [] __device__(float x) { return numerics::exp(x); }, y, x);
template <class F, class Result, class... Operand>
void map(const char* name, F f, View<Result> result, View<Operand>... operands) {
  for_each(name, Assign<F>{f}, result, operands...);
}

/// The one element of `number` wherever `shape` has one.
template <class T, class U>
View<T> repeated(View<T> number, const View<U>& shape) {
  number.rank = shape.rank;
  for (int axis = 0; axis < shape.rank; ++axis) {
    number.extent[axis] = shape.extent[axis];
    number.stride[axis] = 0;
  }
  return number;
}

}  // namespace ASSAY_ISA

template <int views>
inline constexpr bool is_plain_argument<ASSAY_ISA::Walk<views>> = true;
template <class F>
inline constexpr bool is_plain_argument<ASSAY_ISA::Function<F>> = true;

}  // namespace assay::kernels
