// count: sums of integers, which need no order, of a term for each logical element.
#pragma once

#include "device/scratch.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {

/// A term that is the element.
struct Itself {
  __device__ std::uint64_t operator()(std::int64_t, std::uint64_t number) const { return number; }
};

namespace count_detail {

inline constexpr std::int64_t terms_per_lane = 64;

template <class F, std::size_t... v, class... T>
__device__ __forceinline__ std::uint64_t term_at(const F& term, std::int64_t index, const std::int64_t* offset,
                                                 std::index_sequence<v...>, T*... views) {
  return term(index, views[offset[v]]...);
}

/// The sum of every `lanes`-th term from `lane` on.
template <class F, class... T>
__device__ std::uint64_t sum_of_terms(const F& term, const Walk<sizeof...(T)>& walk, std::int64_t lane,
                                      std::int64_t lanes, T*... views) {
  std::uint64_t sum = 0;
  for (std::int64_t i = lane; i < walk.size; i += lanes) {
    std::int64_t offset[sizeof...(T)];
    walk.locate(i, offset);
    sum += term_at(term, i, offset, std::index_sequence_for<T...>(), views...);
  }
  return sum;
}

template <class F, class... T>
__global__ void partial_counts(Function<F> term, Walk<sizeof...(T)> walk, std::int64_t lanes, std::uint64_t* sums,
                               T*... views) {
  if (element() < lanes) sums[element()] = sum_of_terms(term.of, walk, element(), lanes, views...);
}

template <class F, class Finish, class... T>
__global__ void whole_count(Function<F> term, Function<Finish> finish, Walk<sizeof...(T)> walk, std::uint64_t* slot,
                            T*... views) {
  *slot = finish.of(sum_of_terms(term.of, walk, 0, 1, views...), *slot);
}

}  // namespace count_detail

/// slot = finish(Σ term(flat index, elements…), slot), where the terms are 64-bit integers and add up modulo 2⁶⁴.
template <class F, class Finish, class... T>
void count(const char* name, F term, Finish finish, View<std::uint64_t> slot, View<T>... views) {
  using namespace count_detail;
  const int ranks[] = {views.rank...};
  const auto walk = walk_of(0, ranks[0], views...);
  const std::int64_t lanes = (walk.size + terms_per_lane - 1) / terms_per_lane;
  if (lanes <= 1)
    return launch<whole_count<F, Finish, T...>>(name, Grid{1, 1}, Function<F>{term}, Function<Finish>{finish}, walk,
                                                slot.data, views.data...);
  Scratch scratch(this_device, static_cast<std::size_t>(lanes) * sizeof(std::uint64_t));
  auto* sums = reinterpret_cast<std::uint64_t*>(scratch.data());
  launch<partial_counts<F, T...>>(name, lane_per(lanes), Function<F>{term}, walk, lanes, sums, views.data...);
  count(name, Itself(), finish, slot, View<const std::uint64_t>{sums, 1, {lanes}, {1}});
}

/// Ways to finish: the number itself, and whether there was none.
struct HowMany {
  __device__ std::uint64_t operator()(std::uint64_t number, std::uint64_t) const { return number; }
};
struct IsNone {
  __device__ std::uint64_t operator()(std::uint64_t number, std::uint64_t) const { return number == 0; }
};

}  // namespace assay::kernels::ASSAY_ISA
