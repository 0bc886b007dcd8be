// CUDA's runtime on the host, for tests: GPUs as a test wants them, and a stream that does nothing until it is waited
// for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace assay::test::fake {

struct FakeGpu {
  std::string name;
  int major, minor;
  bool starts = true;
};

inline int driver = 13000;
inline cudaError_t count_result = cudaSuccess;
inline std::vector<FakeGpu> gpus{{"Fake", 9, 0}};
inline std::size_t memory = std::size_t{1} << 30, used = 0;
inline cudaError_t last_error = cudaSuccess;
inline std::vector<std::function<cudaError_t()>> queue;  // what the stream has still to do
inline int current = -1;

}  // namespace assay::test::fake
