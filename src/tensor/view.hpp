// View: a strided window on elements, the operand of every kernel.
#pragma once

#include <cstdint>

namespace assay {

/// Pointer, extents and strides (in elements) of a tensor's logical elements. It owns nothing and says nothing of
/// where the memory is: only the kernels of the tensor's device may follow the pointer.
template <class T>
struct View {
  T* data = nullptr;
  int rank = 0;
  std::int64_t extent[6] = {};
  std::int64_t stride[6] = {};
};

}  // namespace assay
