// One GPU, one stream, a pinned buffer for uploads, and errors that name what failed.
#include "device/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/error.hpp"
#include "device/cuda/architectures.hpp"
#include "device/device.hpp"

namespace assay::cuda {
namespace {

std::string text_of(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}

// The last kernels, as a ring: an error of one shows only when somebody waits.
constexpr std::uint64_t remembered = 8;
std::atomic<const char*> recent[remembered];
std::atomic<std::uint64_t> launched{0}, waited_for{0};

std::string since_the_last_wait() {
  const std::uint64_t end = launched, first = waited_for, begin = std::max(first, end - std::min(end, remembered));
  std::string names;
  for (std::uint64_t i = begin; i < end; ++i)
    if (const char* name = recent[i % remembered]) names += (names.empty() ? "" : ", ") + std::string(name);
  if (names.empty()) return "; no kernel was launched since the last wait";
  const bool all = begin == first;
  return "; " + (all ? "kernels" : "the last of " + std::to_string(end - first) + " kernels") +
         " launched since the last wait: " + names;
}

[[noreturn]] void fail(cudaError_t error, const std::string& action, const char* call) {
  cudaGetLastError();  // or the next launch would be blamed for it
  throw Error("RES-6", action + " on cuda", std::string(call) + " to succeed", text_of(error) + since_the_last_wait());
}

void check(cudaError_t error, const char* call, const char* action, std::size_t bytes) {
  if (error != cudaSuccess) fail(error, std::string(action) + " of " + std::to_string(bytes) + " bytes", call);
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_text(int cuda_of_driver) {
  std::string number;
  std::ifstream("/sys/module/nvidia/version") >> number;
  return "driver " + (number.empty() ? "for CUDA " : number + " (CUDA ") + version_text(cuda_of_driver) +
         (number.empty() ? "" : ")") + ", runtime " + version_text(CUDART_VERSION);
}

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

struct Gpu {
  int number = -1;  // none: `text` says why
  std::string text;
  cudaStream_t stream = nullptr;
  std::byte* staging = nullptr;  // pinned
};

Gpu none(std::string reason) { return {-1, std::move(reason)}; }

// Whether the machine code of one of the architectures, or PTX of the last one, runs there.
bool has_code_for(int major, int minor) {
  const auto built = architectures();
  return 100 * major + 10 * minor >= built.back() || std::any_of(built.begin(), built.end(), [&](int architecture) {
           return architecture / 100 == major && architecture % 100 / 10 <= minor;
         });
}

Gpu start(int number, const std::string& driver) {
  cudaDeviceProp properties{};
  if (cudaError_t error = cudaGetDeviceProperties(&properties, number); error != cudaSuccess)
    return none(text_of(error));
  const std::string capability = version_text(1000 * properties.major + 10 * properties.minor);
  char gibibytes[32];
  std::snprintf(gibibytes, sizeof gibibytes, "%.1f GiB", static_cast<double>(properties.totalGlobalMem) / (1 << 30));
  const std::string text =
      std::string(properties.name) + ", " + gibibytes + ", compute capability " + capability + ", " + driver;
  if (!has_code_for(properties.major, properties.minor)) {
    std::string built;
    for (int architecture : architectures()) built += (built.empty() ? "" : ", ") + version_text(10 * architecture);
    return none(text + ": this build has code for " + built + " (-Dcuda-architectures)");
  }
  Gpu gpu{number, text};
  for (cudaError_t error : {cudaSetDevice(number), cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking),
                            cudaMallocHost(reinterpret_cast<void**>(&gpu.staging), staging_bytes)})
    if (error != cudaSuccess) {
      cudaGetLastError();
      return none(text + ": it does not start: " + text_of(error));
    }
  return gpu;
}

Gpu choose() {
  int cuda_of_driver = 0, count = 0;
  if (cudaError_t error = cudaDriverGetVersion(&cuda_of_driver); error != cudaSuccess) return none(text_of(error));
  if (cuda_of_driver == 0) return none("no NVIDIA driver on this machine");
  const std::string driver = driver_text(cuda_of_driver);
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return none(text_of(error) + ", " + driver);
  int first = 0, end = count;
  if (const char* forced = std::getenv("ASSAY_CUDA_DEVICE")) {
    const char* last = forced + std::strlen(forced);
    const auto [rest, error] = std::from_chars(forced, last, first);
    if (error != std::errc{} || rest != last || first < 0 || first >= count)
      return none("ASSAY_CUDA_DEVICE=" + std::string(forced) + " where the GPUs are 0 to " + std::to_string(count - 1));
    end = first + 1;
  }
  std::string reasons;
  for (int number = first; number < end; ++number) {
    Gpu gpu = start(number, driver);
    if (gpu.number >= 0) return gpu;
    reasons += (reasons.empty() ? "GPU " : "; GPU ") + std::to_string(number) + ", " + gpu.text;
  }
  return none(reasons.empty() ? "no GPU, " + driver : reasons);
}

// Never destroyed: a tensor with static storage may outlive main, and the driver does not.
const Gpu& chosen() {
  static const Gpu* gpu = new Gpu(choose());
  return *gpu;
}

// The GPU, as the current one of this thread.
const Gpu& gpu() {
  const Gpu& gpu = chosen();
  if (gpu.number < 0) require_usable(cuda_device);
  thread_local bool current = false;
  if (!current) {
    if (cudaError_t error = cudaSetDevice(gpu.number); error != cudaSuccess)
      fail(error, "starting a thread", "cudaSetDevice");
    current = true;
  }
  return gpu;
}

void wait(cudaStream_t stream, const char* action, std::size_t bytes) {
  const std::uint64_t before = launched;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", action, bytes);
  waited_for = before;
}

std::mutex staging_mutex;
std::size_t staged = 0;  // bytes of the pinned buffer that copies may still read

}  // namespace

bool usable() { return chosen().number >= 0; }

std::string description() { return chosen().text; }

std::byte* allocate(std::size_t bytes) {
  gpu();
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(error, "cudaMalloc", "allocation", bytes);
  return static_cast<std::byte*>(memory);
}

void release(std::byte* memory) {
  if (cudaError_t error = cudaStreamSynchronize(gpu().stream); error != cudaSuccess)
    fail(error, "release of memory", "cudaStreamSynchronize");
  if (cudaError_t error = cudaFree(memory); error != cudaSuccess) fail(error, "release of memory", "cudaFree");
}

std::string free_memory() {
  gpu();
  std::size_t free = 0, all = 0;
  if (cudaError_t error = cudaMemGetInfo(&free, &all); error != cudaSuccess)
    fail(error, "asking for free memory", "cudaMemGetInfo");
  return std::to_string(free) + " bytes of " + std::to_string(all);
}

// By way of pinned memory: from any other, when the source may be changed depends on machine and driver.
void upload(std::byte* to, const void* from, std::size_t bytes) {
  const Gpu& device = gpu();
  std::lock_guard<std::mutex> lock(staging_mutex);
  for (std::size_t done = 0, part; done < bytes; done += part) {
    if (staged == staging_bytes) {
      wait(device.stream, "upload", bytes);
      staged = 0;
    }
    part = std::min(bytes - done, staging_bytes - staged);
    std::byte* copy = device.staging + staged;
    std::memcpy(copy, static_cast<const std::byte*>(from) + done, part);
    check(cudaMemcpyAsync(to + done, copy, part, cudaMemcpyHostToDevice, device.stream), "cudaMemcpyAsync", "upload",
          bytes);
    staged += part;
  }
}

void download(void* to, const std::byte* from, std::size_t bytes) {
  const Gpu& device = gpu();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device.stream), "cudaMemcpyAsync", "download", bytes);
  wait(device.stream, "download", bytes);
}

CUstream_st* stream() { return gpu().stream; }

void check_launch(const char* kernel) {
  recent[launched.fetch_add(1) % remembered] = kernel;
  if (cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    fail(error, "launch of " + std::string(kernel), "cudaLaunchKernel");
}

}  // namespace assay::cuda
