// for_each_run: the elements of several tensors side by side, over any strides.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "device/cpu/thread_pool.hpp"
#include "kernels/walk.hpp"

namespace assay::kernels::ASSAY_ISA {

/// How the elements of a run lie, known at compile time so that loops over it become vector code: side by side, one
/// element again and again (of an operand that is only read), or any stride apart.
enum class Along { neighbours, repeated, apart };

template <Along along, class T>
struct Run {
  T* data;
  ASSAY_INLINE Run(T* first, std::int64_t) : data(first) {}
  ASSAY_INLINE T& operator[](std::int64_t i) const { return data[i]; }
};
template <class T>
struct Run<Along::repeated, T> {
  std::remove_const_t<T> value;
  ASSAY_INLINE Run(T* first, std::int64_t) : value(*first) {}
  ASSAY_INLINE std::remove_const_t<T> operator[](std::int64_t) const { return value; }
};
template <class T>
struct Run<Along::apart, T> {
  T* data;
  std::int64_t stride;
  ASSAY_INLINE Run(T* first, std::int64_t step) : data(first), stride(step) {}
  ASSAY_INLINE T& operator[](std::int64_t i) const { return data[i * stride]; }
};

namespace runs_detail {

// Chooses, view by view, and calls `work` on all runs.
template <Along... along, class Work, class... T>
void run_all(const Walk<sizeof...(T)>& walk, Work& work, const View<T>&... views) {
  constexpr std::size_t chosen = sizeof...(along);
  if constexpr (chosen < sizeof...(T)) {
    if constexpr (std::is_const_v<std::tuple_element_t<chosen, std::tuple<T...>>>)
      if (walk.inner_stride()[chosen] == 0) return run_all<along..., Along::repeated>(walk, work, views...);
    run_all<along..., Along::neighbours>(walk, work, views...);
  } else {
    parallel_for(walk.size, elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      walk.runs(begin, end, [&](std::int64_t first, std::int64_t count, const std::int64_t* offset) {
        [&]<std::size_t... v>(std::index_sequence<v...>) {
          work(first, count, Run<along, T>(views.data + offset[v], walk.inner_stride()[v])...);
        }
        (std::index_sequence_for<T...>{});
      });
    });
  }
}

template <class>
inline constexpr Along any_stride = Along::apart;

}  // namespace runs_detail

/// Calls work(first, count, runs…) so that the runs cover every logical element once; `first` is the flat index of a
/// run's first element. All views have the same extents. Calls come from several threads.
template <class Work, class... T>
void for_each_run(Work work, View<T>... views) {
  const int ranks[] = {views.rank...};
  const auto walk = walk_of(0, ranks[0], views...);
#ifndef ASSAY_HYPOTHESIS  // which has no use for speed, and compiles sooner without
  const std::int64_t* stride = walk.inner_stride();
  bool simple = true;
  for (bool is_read_only : {std::is_const_v<T>...}) {
    simple = simple && (*stride == 1 || (*stride == 0 && is_read_only));
    ++stride;
  }
  if (simple) return runs_detail::run_all(walk, work, views...);
#endif
  runs_detail::run_all<runs_detail::any_stride<T>...>(walk, work, views...);
}

}  // namespace assay::kernels::ASSAY_ISA
