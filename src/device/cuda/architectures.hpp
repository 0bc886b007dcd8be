// The architectures that nvcc made code for.
#pragma once

#include <span>

namespace assay::cuda {

/// In the numbers of __CUDA_ARCH__, rising: 800, 900. PTX is there for the last one.
std::span<const int> architectures();

}  // namespace assay::cuda
