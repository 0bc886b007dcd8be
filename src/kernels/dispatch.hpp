// Dispatch: from an operation on tensors to the kernel of their device.
#pragma once

#include <string>

#include "base/error.hpp"
#include "device/cpu/isa.hpp"
#include "device/profile.hpp"
#include "reference/array.hpp"
#include "tensor/tensor.hpp"

/// Declares a kernel of the cpu device once: it is built for each of the three instruction sets.
#define ASSAY_CPU_KERNEL(...) \
  namespace baseline {        \
  __VA_ARGS__;                \
  }                           \
  namespace avx2 {            \
  __VA_ARGS__;                \
  }                           \
  namespace avx512 {          \
  __VA_ARGS__;                \
  }

/// The same for a kernel of `fast_ops` in meson.build: the profile fast has three more builds of it.
#define ASSAY_CPU_FAST_KERNEL(...) \
  ASSAY_CPU_KERNEL(__VA_ARGS__)    \
  namespace fast_baseline {        \
  __VA_ARGS__;                     \
  }                                \
  namespace fast_avx2 {            \
  __VA_ARGS__;                     \
  }                                \
  namespace fast_avx512 {          \
  __VA_ARGS__;                     \
  }

/// A callable that runs the kernel of that name in the build for this processor and the profile.
#define ASSAY_CPU(kernel)                                                                 \
  [](const auto&... operands) {                                                           \
    const bool fast = profile() == Profile::fast;                                         \
    switch (isa()) {                                                                      \
      case Isa::avx512:                                                                   \
        return fast ? fast_avx512::kernel(operands...) : avx512::kernel(operands...);     \
      case Isa::avx2:                                                                     \
        return fast ? fast_avx2::kernel(operands...) : avx2::kernel(operands...);         \
      default:                                                                            \
        return fast ? fast_baseline::kernel(operands...) : baseline::kernel(operands...); \
    }                                                                                     \
  }

namespace assay::kernels {

// Where the profile fast has no kernel of its own, its name finds the exact one.
namespace baseline {}
namespace avx2 {}
namespace avx512 {}
namespace fast_baseline {
using namespace baseline;
}
namespace fast_avx2 {
using namespace avx2;
}
namespace fast_avx512 {
using namespace avx512;
}

/// Marks a tensor operand whose elements are int32 (labels) or uint8 (masks), not real numbers.
struct Labels {
  const Tensor& tensor;
};
struct Mask {
  const Tensor& tensor;
};

inline View<const float> operand(const Tensor& tensor) { return tensor.view<float>(); }
inline View<const std::int32_t> operand(Labels labels) { return labels.tensor.view<std::int32_t>(); }
inline View<const std::uint8_t> operand(Mask mask) { return mask.tensor.view<std::uint8_t>(); }
template <class T>
T operand(const T& argument) {
  return argument;
}

template <class T>
reference::Array array_of(const Tensor& tensor) {
  auto values = tensor.read<T>();
  return {tensor.shape().extents(), std::vector<double>(values.begin(), values.end())};
}
inline reference::Array oracle_operand(const Tensor& tensor) { return array_of<double>(tensor); }
inline reference::Array oracle_operand(Labels labels) { return array_of<std::int32_t>(labels.tensor); }
inline reference::Array oracle_operand(Mask mask) { return array_of<std::uint8_t>(mask.tensor); }
template <class T>
T oracle_operand(const T& argument) {
  return argument;
}

/// Computes `output`: on cpu with `kernel(operands…, output)`, on the reference device with the array that
/// `oracle(operands…)` returns. Tensor operands arrive as views or arrays, other arguments as they are.
template <class Kernel, class Oracle, class... Operands>
Tensor run(Tensor output, Kernel kernel, Oracle oracle, const Operands&... operands) {
  if (output.device().kind == DeviceKind::reference)
    output.write(oracle(oracle_operand(operands)...).values);
  else
    kernel(operand(operands)..., output.write_view<float>());
  return output;
}

/// Refuses operands on two devices (GRAPH-13).
inline void require_same_device(const char* operation, const Tensor& a, const Tensor& b) {
  if (!(a.device() == b.device()))
    throw Error("GRAPH-13", operation, "operands on one device",
                to_string(a.device()) + " and " + to_string(b.device()));
}

/// `run` over two operands that are stretched to their common shape. Errors: GRAPH-11, GRAPH-13.
template <class Kernel, class Oracle>
Tensor run_broadcast(const char* operation, Kernel kernel, Oracle oracle, const Tensor& a, const Tensor& b) {
  require_same_device(operation, a, b);
  Shape shape = broadcast(operation, a.shape(), b.shape());
  return run(Tensor::uninitialised(shape, a.device()), kernel, oracle, a.expand(shape), b.expand(shape));
}

}  // namespace assay::kernels
