// Matrix product of the profile fast on a GPU: cuBLAS's, in an order of summation that cuBLAS chooses.
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "device/buffer.hpp"
#include "device/cuda/runtime.hpp"
#include "device/profile.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/matmul.hpp"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::fast_cuda {
namespace cublas {

[[noreturn]] inline void fail(const std::string& expected, const std::string& found) {
  throw Error("RES-6", "matrix product of the profile fast on cuda", expected, found);
}

// Declared here, so that nothing of cuBLAS is needed to build: sizes are those of its functions that end in _64.
using Gemm = int (*)(void* handle, int turn_a, int turn_b, std::int64_t m, std::int64_t n, std::int64_t k,
                     const float* alpha, const float* a, std::int64_t lda, long long stride_a, const float* b,
                     std::int64_t ldb, long long stride_b, const float* beta, float* c, std::int64_t ldc,
                     long long stride_c, std::int64_t count);

/// cuBLAS, loaded by the first product.
class Library {
 public:
  Library() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
      if (!library_) library_ = dlopen(name, RTLD_NOW);
    if (!library_) fail("libcublas.so.13 or .12 of the CUDA toolkit; the profile exact needs none", dlerror());
    text_ = find<const char* (*)(int)>("cublasGetStatusString");
    gemm_ = find<Gemm>("cublasSgemmStridedBatched_64");
    check(find<int (*)(void**)>("cublasCreate_v2")(&handle_), "cublasCreate");
    check(find<int (*)(void*, void*)>("cublasSetStream_v2")(handle_, ::assay::cuda::stream()), "cublasSetStream");
    set_math_mode_ = find<int (*)(void*, int)>("cublasSetMathMode");
  }

  template <class... Arguments>
  void gemm(Arguments... arguments) {
    std::lock_guard<std::mutex> lock(mutex_);
    constexpr int binary32 = 0, tf32_allowed = 3;
    check(set_math_mode_(handle_, tf32() ? tf32_allowed : binary32), "cublasSetMathMode");
    check(gemm_(handle_, arguments...), "cublasSgemmStridedBatched");
  }

 private:
  template <class Function>
  Function find(const char* name) {
    void* found = dlsym(library_, name);
    if (!found) fail(std::string(name) + " in libcublas", dlerror());
    return reinterpret_cast<Function>(found);
  }

  void check(int status, const char* call) {
    if (status != 0) fail(std::string(call) + " to succeed", text_(status));
  }

  void *library_ = nullptr, *handle_ = nullptr;
  const char* (*text_)(int) = nullptr;
  int (*set_math_mode_)(void*, int) = nullptr;
  Gemm gemm_ = nullptr;
  std::mutex mutex_;
};

// Never destroyed, as the GPU's stream.
inline Library& library() {
  static auto* loaded = new Library;
  return *loaded;
}

/// Matrices side by side along one axis, as cuBLAS reads them: column by column. Ours lie row by row, so they are
/// transposed already, and `turned` are those of ours that lie column by column.
struct Matrices {
  const float* data;
  bool turned;
  std::int64_t leading;
};

/// Whether the last two axes can be read with a leading dimension, their elements side by side along `unit`.
inline bool reads_along(const View<const float>& x, int unit, int other) {
  return (x.stride[unit] == 1 || x.extent[unit] <= 1) &&
         (x.stride[other] >= std::max<std::int64_t>(1, x.extent[unit]) || x.extent[other] <= 1);
}

inline Matrices matrices_of(const View<const float>& x) {
  const bool turned = !reads_along(x, x.rank - 1, x.rank - 2);
  const int unit = turned ? x.rank - 2 : x.rank - 1, other = turned ? x.rank - 1 : x.rank - 2;
  const std::int64_t least = std::max<std::int64_t>(1, x.extent[unit]);
  return {x.data, turned, x.extent[other] <= 1 ? least : x.stride[other]};
}

/// Row-major memory of the same extents.
inline View<float> row_major(const DeviceBuffer& memory, View<const float> like) {
  View<float> view{reinterpret_cast<float*>(memory.data()), like.rank};
  std::int64_t stride = 1;
  for (int axis = like.rank - 1; axis >= 0; --axis) {
    view.extent[axis] = like.extent[axis];
    view.stride[axis] = stride;
    stride *= like.extent[axis];
  }
  return view;
}

inline DeviceBuffer memory_for(const View<const float>& x) {
  return DeviceBuffer(cuda_device, static_cast<std::size_t>(ASSAY_ISA::size_of(x)) * sizeof(float));
}

inline View<const float> constant(const View<float>& x) {
  View<const float> view{x.data, x.rank};
  std::copy_n(x.extent, x.rank, view.extent);
  std::copy_n(x.stride, x.rank, view.stride);
  return view;
}

/// c = a·b + beta·c.
inline void multiply(const View<const float>& a, const View<const float>& b, float beta, const View<float>& c) {
  const int rows = c.rank - 2, columns = c.rank - 1, batch = c.rank - 3;
  const Matrices left = matrices_of(a), right = matrices_of(b), result = matrices_of(constant(c));
  const float one = 1;
  std::int64_t calls = 1;
  for (int axis = 0; axis < batch; ++axis) calls *= c.extent[axis];
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t at_a = 0, at_b = 0, at_c = 0, index = call;
    for (int axis = batch - 1; axis >= 0; --axis) {
      const std::int64_t place = index % c.extent[axis];
      at_a += place * a.stride[axis];
      at_b += place * b.stride[axis];
      at_c += place * c.stride[axis];
      index /= c.extent[axis];
    }
    const auto stride = [&](const auto& x) { return static_cast<long long>(batch < 0 ? 0 : x.stride[batch]); };
    library().gemm(static_cast<int>(right.turned), static_cast<int>(left.turned), c.extent[columns], c.extent[rows],
                   a.extent[columns], &one, right.data + at_b, right.leading, stride(b), left.data + at_a, left.leading,
                   stride(a), &beta, c.data + at_c, result.leading, stride(c), batch < 0 ? 1 : c.extent[batch]);
  }
}

}  // namespace cublas

void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c) {
  if (ASSAY_ISA::size_of(c) == 0) return;
  // An operand without unit stride in its last two axes is copied first.
  DeviceBuffer copies[2];
  View<const float>* operands[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    View<const float>& x = *operands[i];
    if (cublas::reads_along(x, x.rank - 1, x.rank - 2) || cublas::reads_along(x, x.rank - 2, x.rank - 1)) continue;
    copies[i] = cublas::memory_for(x);
    const View<float> copy = cublas::row_major(copies[i], x);
    ASSAY_ISA::map(
        "matmul", [] __device__(float value) { return value; }, copy, x);
    x = cublas::constant(copy);
  }

  const bool changes = epilogue.bias.data || epilogue.relu;
  if (!changes) return cublas::multiply(a, b, epilogue.accumulate ? 1.0f : 0.0f, c);
  DeviceBuffer apart;  // sums that are changed before they are added to what c holds
  View<float> sums = c;
  if (epilogue.accumulate) {
    apart = cublas::memory_for(cublas::constant(c));
    sums = cublas::row_major(apart, cublas::constant(c));
  }
  cublas::multiply(a, b, 0, sums);
  View<const float> bias = cublas::constant(c);  // the same for all rows; of c itself where there is none
  const bool has_bias = epilogue.bias.data, relu = epilogue.relu, accumulate = epilogue.accumulate;
  if (has_bias) {
    bias.data = epilogue.bias.data;
    std::fill_n(bias.stride, bias.rank, 0);
    bias.stride[bias.rank - 1] = 1;
  }
  ASSAY_ISA::map(
      "matmul",
      [=] __device__(float sum, float offset, float before) {
        if (has_bias) sum = sum + offset;
        if (relu) sum = numerics::relu(sum);
        return accumulate ? before + sum : sum;
      },
      c, cublas::constant(sums), bias, cublas::constant(c));
}

}  // namespace assay::kernels::fast_cuda
