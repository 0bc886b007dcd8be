// Elementwise kernels and reductions against a copy, and elementary functions against libm.
#include <gnu/libc-version.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "benchmark/measure.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/adam.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "kernels/digest.hpp"
#include "kernels/divide.hpp"
#include "kernels/dropout.hpp"
#include "kernels/exp.hpp"
#include "kernels/gelu.hpp"
#include "kernels/log.hpp"
#include "kernels/maximum.hpp"
#include "kernels/mean_squared_error.hpp"
#include "kernels/multiply.hpp"
#include "kernels/relu.hpp"
#include "kernels/scale.hpp"
#include "kernels/sigmoid.hpp"
#include "kernels/squared_norm.hpp"
#include "kernels/subtract.hpp"
#include "kernels/sum.hpp"
#include "kernels/tanh.hpp"

namespace assay::benchmark {
namespace {

using namespace kernels;  // whose builds ASSAY_KERNEL names

constexpr std::int64_t row_length = 1000;
constexpr std::int64_t size_step = 16 * row_length;  // whole rows, and every operand begins on a cache line

void copy_once(View<const float> x, View<float> y) { ASSAY_KERNEL(copy)(cpu, x, y); }

// Operands cut one after the other out of one block, and a copy that moves as many bytes as each case does. What is
// read starts positive, so that no quotient and no root is an exceptional one.
class Bandwidth {
 public:
  explicit Bandwidth(const Options& options) : options_(options), bytes_(12 * options.floats) {}

  /// `make(n)` builds the call that moves `bytes_an_element`·n bytes, each operand being counted once.
  template <class Make>
  void against_copy(const std::string& name, std::int64_t bytes_an_element, Make make) {
    if (!is_wanted(options_, name)) return;
    const std::int64_t n = bytes_ / bytes_an_element / size_step * size_step, moved = n * bytes_an_element;
    taken_ = 0;
    if (!operands_.defined()) {
      operands_ = uniform({bytes_ / 4}, 0.5f, 1.5f);
      source_ = uniform({bytes_ / 8}, 0.5f, 1.5f);
      target_ = Tensor::zeros({bytes_ / 8});
    }
    const View<const float> from = view_of(source_.view<float>().data, {moved / 8});
    const View<float> to = view_of(target_.write_view<float>().data, {moved / 8});
    const Side copy_side{[=] { copy_once(from, to); }};
    measure(options_, {name, "GB/s", "copy", static_cast<double>(moved), {make(n)}, copy_side});
  }

  View<const float> in(std::initializer_list<std::int64_t> extents) {
    const View<float> view = out(extents);
    return view_of<const float>(view.data, extents);
  }
  View<float> out(std::initializer_list<std::int64_t> extents) {
    const View<float> view = view_of(operands_.write_view<float>().data + taken_, extents);
    taken_ += view.extent[0] * (view.rank > 1 ? view.extent[1] : 1);
    return view;
  }

 private:
  const Options& options_;
  std::int64_t bytes_, taken_ = 0;
  Tensor operands_, source_, target_;
};

// The kernels that read two operands and write one, or read one and write one.
template <class Kernel>
void binary(Bandwidth& memory, const char* name, Kernel kernel) {
  memory.against_copy(name, 12, [&](std::int64_t n) {
    return [kernel, a = memory.in({n}), b = memory.in({n}), y = memory.out({n})] { kernel(cpu, a, b, y); };
  });
}
template <class Kernel>
void unary(Bandwidth& memory, const char* name, Kernel kernel) {
  memory.against_copy(name, 8, [&](std::int64_t n) {
    return [kernel, x = memory.in({n}), y = memory.out({n})] { kernel(cpu, x, y); };
  });
}

void against_copy(const Options& options) {
  Bandwidth memory(options);
  binary(memory, "add", ASSAY_KERNEL(add));
  binary(memory, "multiply", ASSAY_KERNEL(multiply));
  binary(memory, "divide", ASSAY_KERNEL(divide));
  binary(memory, "subtract", ASSAY_KERNEL(subtract));
  unary(memory, "relu", ASSAY_KERNEL(relu));
  binary(memory, "relu gradient", ASSAY_KERNEL(relu_gradient));
  unary(memory, "scale", [](Device device, auto x, auto y) { ASSAY_KERNEL(scale)(device, x, 0.999f, y); });

  memory.against_copy("dropout", 9, [&](std::int64_t n) {
    Tensor mask = Tensor::uninitialised({n}, cpu, Dtype::uint8);
    std::minstd_rand generator(7);
    for (std::int64_t i = 0; i < n; ++i) mask.write_view<std::uint8_t>().data[i] = generator() % 5 != 0;
    return [x = memory.in({n}), y = memory.out({n}), mask] {
      ASSAY_KERNEL(dropout)(cpu, x, mask.view<std::uint8_t>(), 0.2, y);
    };
  });

  Tensor result = Tensor::zeros({3 * options.floats / row_length + row_length});
  float* const results = result.write_view<float>().data;
  const View<float> scalar = view_of(results, {});
  memory.against_copy("sum of all", 4, [&](std::int64_t n) {
    return [=, x = memory.in({n})] { ASSAY_KERNEL(sum)(cpu, x, 0, true, scalar); };
  });
  memory.against_copy("sum over the last axis", 4, [&](std::int64_t n) {
    const View<float> y = view_of(results, {n / row_length});
    return [=, x = memory.in({n / row_length, row_length})] { ASSAY_KERNEL(sum)(cpu, x, 1, true, y); };
  });
  memory.against_copy("sum over the first axis", 4, [&](std::int64_t n) {
    const View<float> y = view_of(results, {row_length});
    return [=, x = transposed(memory.in({n / row_length, row_length}))] { ASSAY_KERNEL(sum)(cpu, x, 1, false, y); };
  });
  memory.against_copy("maximum over the last axis", 4, [&](std::int64_t n) {
    const View<float> y = view_of(results, {n / row_length});
    return [=, x = memory.in({n / row_length, row_length})] { ASSAY_KERNEL(maximum)(cpu, x, y); };
  });
  std::uint64_t number = 0;
  const View<std::uint64_t> slot{&number};
  memory.against_copy("squared norm", 4, [&](std::int64_t n) {
    return [=, x = memory.in({n})] { ASSAY_KERNEL(squared_norm)(cpu, x, slot); };
  });
  memory.against_copy("mean squared error", 8, [&](std::int64_t n) {
    return [=, x = memory.in({n}), target = memory.in({n})] { ASSAY_KERNEL(squared_error)(cpu, x, target, scalar); };
  });
  memory.against_copy("digest", 4, [&](std::int64_t n) {
    return [=, x = memory.in({n})] { ASSAY_KERNEL(digest)(cpu, x, std::uint64_t{0}, slot); };
  });

  // As Adam::step does it: one pass that looks whether every result is finite, one that writes.
  const AdamScalars scalars = rounded({1e-3, 0.9, 0.999, 1e-8, 0.01, true, 10});
  memory.against_copy("adam step", 28, [&](std::int64_t n) {
    const View<float> w = memory.out({n}), m = memory.out({n}), v = memory.out({n});
    return [=, g = memory.in({n})] {
      const auto read = [n](View<float> view) { return view_of<const float>(view.data, {n}); };
      ASSAY_KERNEL(adam_is_finite)(cpu, read(w), read(m), read(v), g, scalars, true, slot);
      ASSAY_KERNEL(adam)(cpu, w, m, v, g, scalars, View<const std::uint64_t>{slot.data});
    };
  });
}

// finish(f(argument(x))) of each element; f is called through a pointer that no compiler can see through, so the calls
// stay one scalar call an element.
template <class Argument, class Finish>
std::function<void()> scalar_calls(float (*f)(float), Argument argument, Finish finish, View<const float> x,
                                   View<float> y) {
  float (*volatile hidden)(float) = f;
  return [=, from = x.data, to = y.data, function = hidden] {
    for (std::int64_t i = 0; i < x.extent[0]; ++i) to[i] = finish(from[i], function(argument(from[i])));
    asm volatile("" : : "r"(to) : "memory");
  };
}

template <class Kernel, class Argument, class Finish>
void against_libm(const Options& options, const char* name, Kernel kernel, float (*f)(float), Argument argument,
                  Finish finish, float low, float high) {
  if (!is_wanted(options, name)) return;
  const Tensor x = uniform({4096}, low, high);
  Tensor ours = Tensor::zeros(x.shape()), peer = Tensor::zeros(x.shape());
  const View<const float> from = x.view<float>();
  const View<float> to = ours.write_view<float>();
  const Side our_side{[=] { kernel(cpu, from, to); }},
      peer_side{scalar_calls(f, argument, finish, from, peer.write_view<float>())};
  our_side.call();
  peer_side.call();
  require_close(name, ours, peer, 1e-5);
  measure(options, {name, "ns/element", "libm", static_cast<double>(x.shape().size()), our_side, peer_side});
}

void against_libm(const Options& options) {
  const auto same = [](float x) { return x; };
  const auto as_it_is = [](float, float value) { return value; };
  against_libm(options, "exp", ASSAY_KERNEL(exp), expf, same, as_it_is, -20, 20);
  against_libm(options, "log", ASSAY_KERNEL(log), logf, same, as_it_is, 1e-3f, 1e3f);
  against_libm(options, "tanh", ASSAY_KERNEL(tanh), tanhf, same, as_it_is, -4, 4);
  const auto sigmoid_of = [](float, float value) { return 1 / (1 + value); };
  against_libm(
      options, "sigmoid", ASSAY_KERNEL(sigmoid), expf, [](float x) { return -x; }, sigmoid_of, -4, 4);
  const auto gelu_of = [](float x, float value) { return 0.5f * x * (1 + value); };
  const auto erf_argument = [](float x) { return x * 0x1.6a09e6p-1f; };
  Tensor kept = Tensor::zeros({4096});
  const auto kernel = [below = kept.write_view<float>()](Device device, View<const float> x, View<float> y) {
    ASSAY_KERNEL(gelu)(device, x, below, y);
  };
  against_libm(options, "gelu, by erf", kernel, erff, erf_argument, gelu_of, -4, 4);
}

}  // namespace

void elementwise(const Options& options) {
  say({{"peer", std::string("our copy kernel, and libm of glibc ") + gnu_get_libc_version()}});
  against_copy(options);
  against_libm(options);
}

}  // namespace assay::benchmark
