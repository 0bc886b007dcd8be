// Kernels that a program brings itself, each as one source of CUDA.
#pragma once

#include "kernels/dispatch.hpp"

/// Declares a kernel of the program's own, in a namespace of the program. Its source stands in `ASSAY_ISA` of that
/// namespace and is built once for each device: with -DASSAY_ISA=on_cpu and -DASSAY_ISA=on_simulated by the compiler of
/// the host, and with -DASSAY_ISA=on_cuda by nvcc for a program that is compiled with -DASSAY_OWN_CUDA. On the cpu it
/// runs lane by lane: right, not fast. The commands stand in reference/conformance.md.
///
///     namespace example {
///     ASSAY_DECLARE_OWN_KERNEL(void twice(assay::View<const float> x, assay::View<float> y))
///     }
#define ASSAY_DECLARE_OWN_KERNEL(...) \
  namespace on_cpu {                  \
  __VA_ARGS__;                        \
  }                                   \
  namespace on_simulated {            \
  __VA_ARGS__;                        \
  }                                   \
  namespace on_cuda {                 \
  __VA_ARGS__;                        \
  }

#ifdef ASSAY_OWN_CUDA
#define ASSAY_OWN_KERNEL_ON_CUDA(kernel) return on_cuda::kernel(operands...)
#else
#define ASSAY_OWN_KERNEL_ON_CUDA(kernel)                                                                   \
  throw ::assay::Error("XFER-8", "kernel " #kernel " on cuda", "nvcc's build of it, and -DASSAY_OWN_CUDA", \
                       "a program without them")
#endif

/// The kernel of that name, for kernels::launch and kernels::run, from where it is declared. Errors: XFER-8 on cuda
/// without nvcc's build of it.
///
///     kernels::run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_OWN_KERNEL(twice), twice_of_an_array, x);
#define ASSAY_OWN_KERNEL(kernel)                                                                     \
  ::assay::kernels::named(#kernel, [](::assay::Device device, const auto&... operands) {             \
    if (device == ::assay::cuda_device) ASSAY_OWN_KERNEL_ON_CUDA(kernel);                            \
    return device == ::assay::cpu ? on_cpu::kernel(operands...) : on_simulated::kernel(operands...); \
  })
