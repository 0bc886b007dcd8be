// The functions of CUDA's runtime that src/device/cuda/runtime.cpp calls, on the host.
#include "cuda/fake_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "device/cuda/architectures.hpp"
#include "device/cuda/runtime.hpp"

using namespace assay::test;

namespace {

std::map<void*, std::size_t>& blocks() {
  static std::map<void*, std::size_t> all;
  return all;
}

cudaError_t last_error_of(cudaError_t error) {
  if (error != cudaSuccess) fake::last_error = error;
  return error;
}

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorDevicesUnavailable:
      return "cudaErrorDevicesUnavailable";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorOther";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "its text"; }
cudaError_t cudaGetLastError() { return std::exchange(fake::last_error, cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) { return *version = fake::driver, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  return *count = static_cast<int>(fake::gpus.size()), last_error_of(fake::count_result);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  const fake::FakeGpu& gpu = fake::gpus.at(static_cast<std::size_t>(number));
  std::strcpy(properties->name, gpu.name.c_str());
  properties->major = gpu.major;
  properties->minor = gpu.minor;
  properties->totalGlobalMem = fake::memory;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int number) {
  if (!fake::gpus.at(static_cast<std::size_t>(number)).starts) return last_error_of(cudaErrorDevicesUnavailable);
  return fake::current = number, cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return *stream = nullptr, cudaSuccess; }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return *memory = std::malloc(bytes), cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (bytes > fake::memory - fake::used) return last_error_of(cudaErrorMemoryAllocation);
  *memory = std::malloc(bytes);
  blocks()[*memory] = bytes;
  fake::used += bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  fake::used -= blocks().at(memory);
  blocks().erase(memory);
  return std::free(memory), cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *free = fake::memory - fake::used;
  return *all = fake::memory, cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  fake::queue.push_back([=] { return std::memcpy(to, from, bytes), cudaSuccess; });
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  cudaError_t result = cudaSuccess;
  for (const auto& work : std::exchange(fake::queue, {}))
    if (result == cudaSuccess) result = work();
  return last_error_of(result);
}

}  // extern "C"

namespace assay::cuda {

std::span<const int> architectures() {
  static constexpr int built[] = {800, 900};
  return built;
}

void fill(std::byte*, const void*, std::size_t, std::size_t) {}

}  // namespace assay::cuda
