// What exactness costs: each operation under the profile `exact` against the profile `fast`.
#include "benchmark/measure.hpp"

#ifndef ASSAY_HAS_PROFILES

#include <stdexcept>

void assay::benchmark::price(const Options&) {
  throw std::runtime_error("this version has no profile `fast` to compare with");
}

#else

#include "benchmark/train_step.hpp"
#include "device/profile.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/exp.hpp"
#include "kernels/gelu.hpp"
#include "kernels/log.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/matmul.hpp"
#include "kernels/sigmoid.hpp"
#include "kernels/softmax.hpp"
#include "kernels/tanh.hpp"

namespace assay::benchmark {
namespace {

constexpr std::int64_t elements = 64000;  // in the second-level cache, and whole rows of 10 and of 1000

void exact_against_fast(const Options& options, const std::string& name, const char* unit, double work,
                        const std::function<void()>& call) {
  if (!is_wanted(options, name)) return;
  measure(options,
          {name, unit, "fast", work, {call, [] { set_profile(Profile::exact); }}, {call, [] {
                                                                                     set_profile(Profile::fast);
                                                                                   }}});
  set_profile(Profile::exact);
}

template <class Function>
void elementary(const Options& options, const char* name, Function function, float low, float high) {
  const Tensor x = uniform({elements}, low, high);
  exact_against_fast(options, name, "ns/element", elements, [=] { function(x); });
}

}  // namespace

void price(const Options& options) {
  say({{"peer", "the profile fast"}});
  struct Extents {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] : {Extents{64, 64, 64}, Extents{256, 256, 256}, Extents{1024, 1024, 1024},
                               Extents{512, 384, 128}, Extents{128, 512, 784}}) {
    const Tensor a = uniform({m, k}, -1, 1), b = uniform({k, n}, -1, 1);
    const std::string name = "matmul " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    exact_against_fast(options, name, "GF/s", 2 * static_cast<double>(m * n * k), [=] { kernels::matmul(a, b); });
  }

  elementary(options, "exp", kernels::exp, -20, 20);
  elementary(options, "log", kernels::log, 1e-3f, 1e3f);
  elementary(options, "tanh", kernels::tanh, -4, 4);
  elementary(options, "sigmoid", kernels::sigmoid, -4, 4);
  elementary(options, "gelu", kernels::gelu, -4, 4);
  for (const std::int64_t classes : {10, 1000}) {
    const std::string rows = ", rows of " + std::to_string(classes);
    const Tensor x = uniform({elements / classes, classes}, -4, 4);
    const Tensor labels =
        Tensor::from(std::vector<std::int32_t>(static_cast<std::size_t>(elements / classes), 3), {elements / classes});
    exact_against_fast(options, "softmax" + rows, "ns/element", elements, [=] { kernels::softmax(x); });
    exact_against_fast(options, "log_softmax" + rows, "ns/element", elements, [=] { kernels::log_softmax(x); });
    exact_against_fast(options, "cross_entropy" + rows, "ns/element", elements,
                       [=] { kernels::cross_entropy(x, labels, 0, -100); });
  }

  if (!is_wanted(options, "training step")) return;
  const Workload workload = workload_of("mlp");
  Training training(workload.configuration, workload.data);
  exact_against_fast(options, "training step", "ms/step", 1, [&] { training.advance(); });
}

}  // namespace assay::benchmark

#endif
