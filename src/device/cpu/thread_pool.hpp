// The threads of the cpu device: work is split over outputs, so the number of threads never shows in the bits.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace assay {

/// The number of threads that kernels use; at first ASSAY_THREADS, else 1.
int threads();

/// Errors: NUM-1 for fewer than 1 or more than 1024 threads, or a caller with a floating-point environment of its own
/// (see float_environment.hpp). Not to be called while a kernel runs.
void set_threads(int count);

/// Modes of a thread, one bit each, that the workers of its parallel loops share while they work for it. The layers
/// above give the bits their meaning.
inline thread_local std::uint32_t thread_modes = 0;

namespace detail {
void parallel(std::int64_t count, std::int64_t grain, void (*work)(void*, std::int64_t, std::int64_t), void* context);
}

/// Calls `work(begin, end)` so that the ranges cover [0, count) once each, at least `grain` elements a range, and
/// returns when all are done. Every call has the caller's `thread_modes` (MODE-1). A call from inside a call runs on
/// the caller's thread. `work` must not throw.
///
///     parallel_for(rows, 16, [&](std::int64_t begin, std::int64_t end) { … });
template <class Work>
void parallel_for(std::int64_t count, std::int64_t grain, Work&& work) {
  detail::parallel(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<Work>*>(context))(begin, end);
      },
      static_cast<void*>(std::addressof(work)));
}

}  // namespace assay
