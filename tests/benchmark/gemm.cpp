// Matrix products against OpenBLAS, which is loaded at run time.
#include <dlfcn.h>
#include <stdlib.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "benchmark/measure.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/matmul.hpp"

namespace assay::benchmark {
namespace {

using namespace kernels;  // whose instruction sets ASSAY_CPU names

enum Order { row_major = 101 };
enum Transpose { as_stored = 111, transpose = 112 };
using Sgemm = void (*)(Order, Transpose, Transpose, int m, int n, int k, float alpha, const float* a, int a_step,
                       const float* b, int b_step, float beta, float* c, int c_step);

struct Extents {
  int m, n, k;
};
constexpr Extents shapes[] = {{64, 64, 64},       {128, 128, 128},    {256, 256, 256},  {512, 512, 512},
                              {1024, 1024, 1024}, {1536, 1536, 1536}, {512, 384, 128},  {512, 128, 512},
                              {512, 512, 128},    {2048, 768, 768},   {2048, 3072, 768}};

Sgemm load_openblas() {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  auto core = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_corename"));
  auto configuration = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_config"));
  Dl_info place{};
  if (!sgemm || !core || !configuration || !dladdr(reinterpret_cast<void*>(sgemm), &place))
    throw std::runtime_error("libopenblas.so.0 lacks cblas_sgemm, openblas_get_corename or openblas_get_config");
  char* file = realpath(place.dli_fname, nullptr);
  say({{"peer", configuration()}, {"blas_core", core()}, {"blas_file", file ? file : place.dli_fname}});
  free(file);
  return sgemm;
}

void multiply(View<const float> a, View<const float> b, View<float> c) {
  ASSAY_KERNEL(matmul)(cpu, a, b, Epilogue{}, c);
}

std::string name_of(const char* form, Extents size) {
  return std::string(form) + " " + std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k);
}

double operations(Extents size) { return 2.0 * size.m * size.n * size.k; }

// `form` says of each operand whether it is stored as it is multiplied (N) or transposed (T).
void against_openblas(const Options& options, Sgemm sgemm, const char* form, Extents size) {
  const std::string name = name_of(form, size);
  if (!is_wanted(options, name)) return;
  const auto [m, n, k] = size;
  const bool a_turned = form[0] == 'T', b_turned = form[1] == 'T';
  const Tensor a = a_turned ? uniform({k, m}, -1, 1) : uniform({m, k}, -1, 1);
  const Tensor b = b_turned ? uniform({n, k}, -1, 1) : uniform({k, n}, -1, 1);
  Tensor our_c = Tensor::zeros({m, n}), peer_c = Tensor::zeros({m, n});
  const View<const float> a_stored = a.view<float>(), b_stored = b.view<float>();
  const View<const float> a_view = a_turned ? transposed(a_stored) : a_stored;
  const View<const float> b_view = b_turned ? transposed(b_stored) : b_stored;
  const View<float> c = our_c.write_view<float>(), peer = peer_c.write_view<float>();

  const Side our_side{[=] { multiply(a_view, b_view, c); }};
  const Side peer_side{[=, m = m, n = n, k = k] {
    sgemm(row_major, a_turned ? transpose : as_stored, b_turned ? transpose : as_stored, m, n, k, 1, a_stored.data,
          a_turned ? m : k, b_stored.data, b_turned ? k : n, 0, peer.data, n);
  }};
  our_side.call();
  peer_side.call();
  require_close(name, our_c, peer_c, 1e-6 * k);
  measure(options, {name, "GF/s", "OpenBLAS", operations(size), our_side, peer_side});
}

void two_threads_against_one(const Options& options, Extents size) {
  const std::string name = "2 threads " + name_of("NN", size);
  if (!is_wanted(options, name) || getenv("ASSAY_THREADS") || std::thread::hardware_concurrency() < 2) return;
  const Tensor a = uniform({size.m, size.k}, -1, 1), b = uniform({size.k, size.n}, -1, 1);
  Tensor result = Tensor::zeros({size.m, size.n});
  const View<const float> a_view = a.view<float>(), b_view = b.view<float>();
  const View<float> c = result.write_view<float>();
  const auto call = [=] { multiply(a_view, b_view, c); };
  measure(options, {name,
                    "x",
                    "ours with 1 thread",
                    operations(size),
                    {call, [] { set_threads(2); }},
                    {call, [] { set_threads(1); }},
                    true});
  set_threads(1);
}

}  // namespace

void gemm(const Options& options) {
  const Sgemm sgemm = load_openblas();
  for (const Extents size : shapes)
    for (const char* form : {"NN", "NT", "TN"}) against_openblas(options, sgemm, form, size);
  two_threads_against_one(options, {1024, 1024, 1024});
}

}  // namespace assay::benchmark
