// The GPU of this process, by CUDA's runtime: which one it is, its memory, copies, and the one stream of all kernels.
#pragma once

#include <cstddef>
#include <string>

struct CUstream_st;

/// Defined in builds with CUDA only; called inside `if constexpr (have_cuda)`. Everything happens on one stream, in the
/// order in which it was asked for, on whatever thread. The first call chooses the GPU: the first one that can run the
/// kernels of this build and starts, or the one whose number ASSAY_CUDA_DEVICE gives.
///
/// A kernel that fails while it runs is noticed by whoever waits next; that error names the kernels launched since the
/// wait before. Errors, of every function that does not say otherwise: XFER-8 where no GPU is usable, with the reason;
/// RES-6 naming the call or the kernel and what CUDA says.
namespace assay::cuda {

/// Whether there is a GPU that can be used, and what is known of it or why not; neither throws.
///
///     description();  // "NVIDIA H200, 139.8 GiB, compute capability 9.0, driver 580.65.06 (CUDA 13.0), runtime 13.0"
bool usable();
std::string description();

/// Memory that nobody had before, 256-byte aligned; null when there is not enough.
std::byte* allocate(std::size_t bytes);
/// Gives memory back to the driver, after all work on the device.
void release(std::byte* memory);
/// "1073741824 bytes of 150121545728", free of all.
std::string free_memory();

/// Host to device; the source may be changed at once, the copy takes its place in the order.
void upload(std::byte* to, const void* from, std::size_t bytes);
/// Device to host, after everything that was asked for before.
void download(void* to, const std::byte* from, std::size_t bytes);
/// `count` copies of a value of 1, 4 or 8 bytes.
void fill(std::byte* to, const void* value, std::size_t width, std::size_t count);

CUstream_st* stream();

/// Throws what the launch reported. The kernel's name is kept, so it is one that is never freed.
void check_launch(const char* kernel);

}  // namespace assay::cuda
