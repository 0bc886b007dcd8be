// Scratch memory of a thread, for a kernel's packed operands.
#pragma once

#include <cstddef>

namespace assay {

/// At least `bytes` of uninitialised memory, 64-byte aligned, this thread's until its next call. It is kept and grows
/// to the largest request, so a training step that repeats allocates nothing.
void* thread_scratch(std::size_t bytes);

}  // namespace assay
