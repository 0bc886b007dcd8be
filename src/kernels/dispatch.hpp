// Dispatch: from an operation on tensors to the kernel of their device.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/counters.hpp"
#include "device/cpu/float_environment.hpp"
#include "device/cpu/isa.hpp"
#include "device/profile.hpp"
#include "numerics/hypothesis.hpp"
#include "reference/array.hpp"
#include "tensor/tensor.hpp"

/// Declares a kernel once: it is built for each of the three instruction sets, on the cpu and on the simulated device,
/// by nvcc, and twice for hypotheses about the cpu. Operands are views of the memory of the kernel's device.
#define ASSAY_DECLARE_KERNEL(...) \
  namespace baseline {            \
  __VA_ARGS__;                    \
  }                               \
  namespace avx2 {                \
  __VA_ARGS__;                    \
  }                               \
  namespace avx512 {              \
  __VA_ARGS__;                    \
  }                               \
  namespace simulated_baseline {  \
  __VA_ARGS__;                    \
  }                               \
  namespace simulated_avx2 {      \
  __VA_ARGS__;                    \
  }                               \
  namespace simulated_avx512 {    \
  __VA_ARGS__;                    \
  }                               \
  namespace cuda {                \
  __VA_ARGS__;                    \
  }                               \
  namespace hypothesis {          \
  __VA_ARGS__;                    \
  }                               \
  namespace contracted {          \
  __VA_ARGS__;                    \
  }

/// The same for a kernel of `fast_ops` in meson.build: the profile fast has three more builds of it on the cpu.
#define ASSAY_DECLARE_FAST_KERNEL(...) \
  ASSAY_DECLARE_KERNEL(__VA_ARGS__)    \
  namespace fast_baseline {            \
  __VA_ARGS__;                         \
  }                                    \
  namespace fast_avx2 {                \
  __VA_ARGS__;                         \
  }                                    \
  namespace fast_avx512 {              \
  __VA_ARGS__;                         \
  }

/// The kernel of that name: runs the build for the device, this processor, the profile and the hypothesis.
#define ASSAY_KERNEL(kernel)                                                                                        \
  ::assay::kernels::named(#kernel, [](::assay::Device device, const auto&... operands) {                            \
    const bool on_host = device == ::assay::cpu, fast = profile() == Profile::fast;                                 \
    if constexpr (::assay::have_cuda)                                                                               \
      if (device == ::assay::cuda_device) return fast ? fast_cuda::kernel(operands...) : cuda::kernel(operands...); \
    if (const ::assay::Arithmetic* supposed = ::assay::arithmetic(); supposed && on_host) {                         \
      const ::assay::FlushScope environment(supposed->flush);                                                       \
      return supposed->contracted ? contracted::kernel(operands...) : hypothesis::kernel(operands...);              \
    }                                                                                                               \
    switch (isa()) {                                                                                                \
      case Isa::avx512:                                                                                             \
        if (!on_host) return simulated_avx512::kernel(operands...);                                                 \
        return fast ? fast_avx512::kernel(operands...) : avx512::kernel(operands...);                               \
      case Isa::avx2:                                                                                               \
        if (!on_host) return simulated_avx2::kernel(operands...);                                                   \
        return fast ? fast_avx2::kernel(operands...) : avx2::kernel(operands...);                                   \
      default:                                                                                                      \
        if (!on_host) return simulated_baseline::kernel(operands...);                                               \
        return fast ? fast_baseline::kernel(operands...) : baseline::kernel(operands...);                           \
    }                                                                                                               \
  })

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
namespace cuda {}
namespace fast_cuda {
using namespace cuda;
}

/// A kernel under the name that counts, faults and traces know it by.
template <class Call>
struct Kernel {
  const char* name;
  Call call;
  template <class... Operands>
  void operator()(Device device, const Operands&... operands) const {
    call(device, operands...);
  }
};
template <class Call>
Kernel<Call> named(const char* name, Call call) {
  return {name, call};
}

/// Marks a tensor operand whose elements are not the device's real numbers.
template <class T>
struct As {
  const Tensor& tensor;
};
using Labels = As<std::int32_t>;
using Mask = As<std::uint8_t>;
/// Marks a tensor that the kernel writes; its version rises when the launch succeeds.
struct Out {
  const Tensor& tensor;
};
/// Marks one that the kernel may write; who launches it counts the write.
struct OutUncounted {
  const Tensor& tensor;
};

template <class T>
View<const T> operand(As<T> as) {
  return as.tensor.template view<T>();
}
inline View<const float> operand(const Tensor& tensor) { return operand(As<float>{tensor}); }
inline View<float> operand(Out out) { return Tensor(out.tensor).write_view<float>(); }
inline View<float> operand(OutUncounted out) { return Tensor(out.tensor).uncounted_write_view<float>(); }
template <class T>
T operand(const T& argument) {
  return argument;
}

/// What `operand` would refuse, before anything is counted as written.
inline void require_operand(const Tensor& tensor) { tensor.view<float>(); }
inline void require_operand(Out out) { out.tensor.view<float>(); }
template <class T>
void require_operand(As<T> as) {
  as.tensor.template view<T>();
}
template <class T>
void require_operand(const T&) {}

/// Runs a kernel of a device with 32-bit numbers. Tensors arrive as views, other arguments as they are. Errors: RES-6
/// when the launch fails, RES-2, RES-8 and ACC-4 for operands that cannot be used; nothing is written then.
template <class Call, class... Operands>
void launch(Device device, const Kernel<Call>& kernel, const Operands&... operands) {
  (require_operand(operands), ...);
  if (sabotaged("failed_launch_counts_as_written")) (static_cast<void>(operand(operands)), ...);
  device_log::launch(device, kernel.name);
  kernel(device, operand(operands)...);
}

template <class T>
reference::Array array_of(const Tensor& tensor) {
  auto values = tensor.read<T>();
  return {tensor.shape().extents(), std::vector<double>(values.begin(), values.end())};
}
inline reference::Array oracle_operand(const Tensor& tensor) { return array_of<double>(tensor); }
template <class T>
reference::Array oracle_operand(As<T> as) {
  return array_of<T>(as.tensor);
}
template <class T>
T oracle_operand(const T& argument) {
  return argument;
}

/// Computes `output`: on the reference device as the array that `oracle(operands…)` returns, elsewhere by
/// `kernel(operands…, output)`. Tensor operands arrive as arrays or views, other arguments as they are.
template <class Call, class Oracle, class... Operands>
Tensor run(Tensor output, const Kernel<Call>& kernel, Oracle oracle, const Operands&... operands) {
  if (output.device() == reference_device) {
    device_log::launch(output.device(), kernel.name);
    output.write(oracle(oracle_operand(operands)...).values);
  } else {
    launch(output.device(), kernel, operands..., Out{output});
  }
  return output;
}

/// Refuses operands on two devices (GRAPH-13).
inline void require_same_device(const char* operation, const Tensor& a, const Tensor& b) {
  if (!(a.device() == b.device()) && !sabotaged("mixed_devices_pass"))
    throw Error("GRAPH-13", operation, "operands on one device",
                to_string(a.device()) + " and " + to_string(b.device()));
}

/// `run` over two operands that are stretched to their common shape. Errors: GRAPH-11, GRAPH-13.
template <class Call, class Oracle>
Tensor run_broadcast(const char* operation, const Kernel<Call>& kernel, Oracle oracle, const Tensor& a,
                     const Tensor& b) {
  require_same_device(operation, a, b);
  Shape shape = broadcast(operation, a.shape(), b.shape());
  return run(Tensor::uninitialised(shape, a.device()), kernel, oracle, a.expand(shape), b.expand(shape));
}

}  // namespace assay::kernels
