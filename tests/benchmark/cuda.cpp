// The GPU: exact matrix products against cuBLAS's in binary32, and a training step against `fast` and the CPU.
#include <optional>

#include "base/error.hpp"
#include "benchmark/measure.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "harness/training.hpp"
#include "kernels/matmul.hpp"

namespace assay::benchmark {
namespace {

using namespace kernels;  // whose builds ASSAY_KERNEL names

struct Product {
  std::int64_t m, n, k;
};
// Cubes; then linear layers of a transformer: 8 x 64 or 8 x 128 positions, width 128 or 256, hidden 512 or 1024,
// 256 classes. The largest last, because a runner may be out of time by then.
constexpr Product products[] = {
    {512, 512, 512},   {1024, 1024, 1024}, {2048, 2048, 2048}, {512, 384, 128},    {512, 128, 128},
    {512, 512, 128},   {512, 128, 512},    {512, 256, 128},    {1024, 768, 256},   {1024, 256, 256},
    {1024, 1024, 256}, {1024, 256, 1024},  {4096, 4096, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192},
};

std::function<void()> use(Profile profile) {
  return [profile] { set_profile(profile); };
}

/// Why `call` does not work in the profile fast, which needs cuBLAS; nothing when it does.
std::optional<std::string> refusal_of_fast(const std::function<void()>& call) {
  try {
    const ProfileScope fast(Profile::fast);
    call();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void product(const Options& options, const char* form, Product size, const std::function<void()>& wait) {
  const auto [m, n, k] = size;
  const std::string name =
      std::string(form) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  if (!is_wanted(options, name)) return;
  const bool a_turned = form[0] == 'T', b_turned = form[1] == 'T';
  const Tensor a = (a_turned ? uniform({k, m}, -1, 1) : uniform({m, k}, -1, 1)).to(cuda_device);
  const Tensor b = (b_turned ? uniform({n, k}, -1, 1) : uniform({k, n}, -1, 1)).to(cuda_device);
  Tensor exact = Tensor::zeros({m, n}, cuda_device), fast = Tensor::zeros({m, n}, cuda_device);
  const View<const float> a_view = a_turned ? transposed(a.view<float>()) : a.view<float>();
  const View<const float> b_view = b_turned ? transposed(b.view<float>()) : b.view<float>();
  const auto into = [&](Tensor& result) -> std::function<void()> {
    const View<float> c = result.write_view<float>();
    return [=] { ASSAY_KERNEL(matmul)(cuda_device, a_view, b_view, Epilogue{}, c); };
  };
  const Side ours{into(exact), use(Profile::exact), wait};
  Side peer{into(fast), use(Profile::fast), wait};
  std::string against = "cuBLAS";
  if (const auto reason = refusal_of_fast(peer.call)) {
    against = "none: " + *reason;
    peer = {};
  } else {
    ours.call();
    require_close(name, exact.to(cpu), fast.to(cpu), 1e-6 * static_cast<double>(k));
  }
  measure(options, {name, "GF/s", against, 2.0 * static_cast<double>(m * n * k), ours, peer, false, true});
}

void step(const Options& options, const std::function<void()>& wait) {
  const std::string name = "training step 784-512-10, batch 128";
  if (!is_wanted(options, name)) return;
  const DataOptions numbers{.kind = "synthetic", .synthetic = {.samples = 12800, .features = 784, .classes = 10}};
  const Datasets data = load_datasets(numbers);
  const auto training = [&](const char* device, const char* numerics) {
    Configuration configuration;
    configuration.data = numbers;
    configuration.model.layers = {784, 512, 10};
    configuration.train.batch = 128;
    configuration.train.epochs = 0;
    configuration.train.steps = 1 << 30;  // the benchmark ends it
    configuration.run.device = device;
    configuration.run.numerics = numerics;
    configuration.trace.level = "none";
    return Training(configuration, data);
  };
  Training exact = training("cuda", "exact"), fast = training("cuda", "fast"), host = training("cpu", "exact");
  const Side ours{[&] { exact.advance(); }, {}, wait};
  const auto reason = refusal_of_fast([&] { fast.advance(); });
  const Side peer = reason ? Side{} : Side{[&] { fast.advance(); }, {}, wait};
  measure(options, {name, "ms/step", reason ? "none: " + *reason : "fast", 1, ours, peer, false, true});
  measure(options, {name + ", and on the CPU",
                    "ms/step",
                    "cpu, threads: " + std::to_string(threads()),
                    1,
                    ours,
                    {[&] { host.advance(); }},
                    false,
                    true});
}

}  // namespace

void cuda(const Options& options) {
  require_usable(cuda_device);
  say({{"gpu", describe_devices().back().detail}, {"peer", "cuBLAS by the profile fast, no TF32"}});
  const Tensor one = Tensor::zeros({1}, cuda_device);
  const auto wait = [one] { one.read<float>(); };  // a download waits for all that was asked for before it
  step(options, wait);
  for (const char* form : {"NT", "TN"}) product(options, form, {2048, 2048, 2048}, wait);
  for (const Product size : products) product(options, "NN", size, wait);
  set_profile(Profile::exact);
}

}  // namespace assay::benchmark
