// for_each_run: the elements of several tensors side by side, for kernels with several results or with one number.
#pragma once

#include "kernels/cpu/elementwise.hpp"

namespace assay::kernels::ASSAY_ISA {

/// Elements along one run; `unit` says at compile time that they are neighbours.
template <class T, bool unit>
struct Run {
  T* data;
  std::int64_t stride;
  ASSAY_INLINE T& operator[](std::int64_t i) const { return data[unit ? i : i * stride]; }
};

/// Calls work(first, count, runs…) so that the runs cover every logical element once; `first` is the flat index of a
/// run's first element. All views have the same extents. Calls come from several threads.
template <class Work, class Lead, class... T>
void for_each_run(Work work, View<Lead> lead, View<T>... others) {
  std::int64_t size = size_of(lead);
  if (size == 0) return;
  if (is_contiguous(lead) && (is_contiguous(others) && ...)) {
    parallel_for(size, elements_per_task, [=](std::int64_t begin, std::int64_t end) {
      work(begin, end - begin, Run<Lead, true>{lead.data + begin, 1}, Run<T, true>{others.data + begin, 1}...);
    });
    return;
  }
  // A view that is not contiguous has an axis.
  int last = lead.rank - 1;
  std::int64_t length = lead.extent[last];
  bool unit = lead.stride[last] == 1 && ((others.stride[last] == 1) && ...);
  parallel_for(size / length, elements_per_task / length + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      if (unit)
        work(row * length, length, Run<Lead, true>{row_start(lead, row), 1},
             Run<T, true>{row_start(others, row), 1}...);
      else
        work(row * length, length, Run<Lead, false>{row_start(lead, row), lead.stride[last]},
             Run<T, false>{row_start(others, row), others.stride[last]}...);
  });
}

}  // namespace assay::kernels::ASSAY_ISA
