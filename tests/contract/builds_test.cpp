// Contract of the kernels: every build, on any number of threads and over any strides, has the bits of plain loops.
#include <limits>

#include "kernels/adam.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "kernels/count_correct.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/digest.hpp"
#include "kernels/divide.hpp"
#include "kernels/dropout.hpp"
#include "kernels/finite.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/maximum.hpp"
#include "kernels/mean_squared_error.hpp"
#include "kernels/multiply.hpp"
#include "kernels/relu.hpp"
#include "kernels/scale.hpp"
#include "kernels/softmax.hpp"
#include "kernels/squared_norm.hpp"
#include "kernels/subtract.hpp"
#include "kernels/sum.hpp"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "support/builds.hpp"
#include "support/operation.hpp"
#include "support/plain_loops.hpp"

namespace assay::kernels {  // where a kernel is called by its name

using namespace assay::test;

namespace {

using Row = std::vector<float>;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Elements of four kinds: numbers of many magnitudes with zeros of both signs; numbers whose squares underflow, and
// zeros; such whose products with those of the next seed are −0; and NaNs, infinities and subnormals among numbers.
enum Kind { ordinary, tiny, vanishing, exceptional };
Tensor values(const Shape& shape, std::uint64_t seed, Kind kind, Device device) {
  Tensor x = drawn(shape, seed);
  Row all(x.read<float>().begin(), x.read<float>().end());
  const Tensor choice = drawn(shape, seed + 1000, 0, 64);
  const auto chosen = choice.read<float>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int c = static_cast<int>(chosen[static_cast<std::int64_t>(i)]);
    if (kind == ordinary) all[i] = c == 0 ? 0.0f : c == 1 ? -0.0f : std::ldexp(all[i], c % 16 - 8);
    if (kind == tiny) all[i] = c % 4 == 0 ? std::copysign(0.0f, all[i]) : all[i] * 1e-30f;
    if (kind == vanishing)  // a −0 after each lane's first element: it shows whether a sum is −0 or +0
      all[i] = std::copysign(i % 40 == 35 ? 0.0f : 1e-30f, seed % 2 == 0 ? -1.0f : 1.0f);
    if (kind == exceptional && c == 0) all[i] = std::copysign(infinity, all[i]);
    if (kind == exceptional && c == 1) all[i] = std::copysign(std::numeric_limits<float>::quiet_NaN(), all[i]);
    if (kind == exceptional && c > 1 && c < 8) all[i] = all[i] * 0x1p-130f;
    if (kind == exceptional && c > 7 && c < 12) all[i] = std::copysign(0.0f, all[i]);
  }
  return Tensor::from(all, shape, device);
}

Row row_of(const Tensor& x, std::int64_t row, std::int64_t length) {
  const auto all = x.read<float>();
  return Row(all.begin() + row * length, all.begin() + (row + 1) * length);
}

// The tensor of f(row 0), f(row 1), … in that shape.
template <class F>
Tensor rows(std::int64_t count, const Shape& shape, Device device, F f) {
  Row all;
  for (std::int64_t row = 0; row < count; ++row)
    for (float value : f(row)) all.push_back(value);
  return Tensor::from(all, shape, device);
}

void check_sums(const Tensor& x, int kept, const std::string& what) {
  const Device device = x.device();
  std::int64_t outputs = 1;
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < kept; ++axis) extents.push_back(x.shape()[axis]), outputs *= extents.back();
  const std::int64_t length = outputs == 0 ? 0 : x.size() / outputs;
  const auto all = x.read<float>();  // once: reading a view gathers it
  for (bool lanes : {true, false}) {
    const Tensor expected = rows(outputs, Shape(extents), device, [&](std::int64_t i) {
      const Row row(all.begin() + i * length, all.begin() + (i + 1) * length);
      return Row{lanes ? plain::lane_sum(row) : plain::chain(row)};
    });
    in_every_build(device, what + (lanes ? " in lanes " : " in chains ") + to_string(x.shape()),
                   [&](const std::string& where) {
                     Tensor y = Tensor::full(Shape(extents), 777, device);
                     ASSAY_KERNEL(sum)(device, operand(x), kept, lanes, y.write_view<float>());
                     check_same_bits(expected, y, where);
                   });
  }
}

// The formulas of N5 for one row.
constexpr std::int32_t ignored = -100;

Row exponentials(Row x) {
  const float most = x[plain::argmax(x)];
  for (float& value : x) value = numerics::exp(value - most);
  return x;
}
Row softmax(const Row& x) {
  Row y = exponentials(x);
  const float sum = plain::lane_sum(y);
  for (float& value : y) value = value / sum;
  return y;
}
Row softmax_gradient(Row y, const Row& g) {
  const float dot = plain::lane_dot(g, y);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * (g[i] - dot);
  return y;
}
Row log_softmax(Row x) {
  const float most = x[plain::argmax(x)], log_of_sum = numerics::log(plain::lane_sum(exponentials(x)));
  for (float& value : x) value = (value - most) - log_of_sum;
  return x;
}
Row log_softmax_gradient(const Row& y, Row g) {
  const float sum = plain::lane_sum(g);
  for (std::size_t i = 0; i < y.size(); ++i) g[i] = g[i] - numerics::exp(y[i]) * sum;
  return g;
}
float loss(const Row& x, std::int32_t label, double smoothing) {
  if (label == ignored) return 0;
  const Row l = log_softmax(x);
  const float on_label = static_cast<float>(1 - smoothing) * -l[static_cast<std::size_t>(label)];
  const auto spread = static_cast<float>(smoothing / static_cast<double>(x.size()));
  return smoothing > 0 ? on_label + spread * -plain::lane_sum(l) : on_label;
}
Row loss_gradient(const Row& x, std::int32_t label, double smoothing, float scale) {
  if (label == ignored) return Row(x.size());
  const auto keep = static_cast<float>(1 - smoothing),
             spread = static_cast<float>(smoothing / static_cast<double>(x.size()));
  Row y = exponentials(x);
  const float sum = plain::lane_sum(y);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = (y[i] / sum - (static_cast<std::size_t>(label) == i ? keep + spread : spread)) * scale;
  return y;
}

}  // namespace

CONTRACT(NUM_2_every_build_sums_in_the_orders_of_plain_loops_over_any_strides) {
  struct Extents {
    std::int64_t rows, length;
  };
  std::vector<Extents> all{{3, 8193}, {2, 70000}, {1, 100000}, {129, 4097}, {1025, 33}, {1030, 1}, {40, 1025}, {0, 5}};
  for (std::int64_t length : {0, 1, 10, 15, 16, 17, 31, 32, 33, 511, 512, 513, 4095, 4096, 4097})
    all.push_back({length % 7 + 1, length});
  for (const Extents& e : all) {
    for (Kind kind : {ordinary, tiny, vanishing, exceptional}) {
      if (kind != ordinary && e.rows * e.length > 10000) continue;
      check_sums(values({e.rows, e.length}, 1, kind, device), 1, "rows");
      check_sums(values({e.length, e.rows}, 2, kind, device).transpose(0, 1), 1, "columns");
    }
    check_sums(strided(values({e.rows, e.length}, 3, ordinary, device)), 1, "strided rows");
    check_sums(values({e.length, 1}, 4, ordinary, device).expand({e.length, 3}).transpose(0, 1), 1, "repeated columns");
    check_sums(values({e.rows, 1}, 5, ordinary, device).expand({e.rows, e.length}), 1, "repeated elements");
  }
  const Tensor x = values({6, 70, 50}, 6, ordinary, device);
  check_sums(x.move_axis(0, 2), 2, "over the first axis");
  check_sums(x.move_axis(1, 2), 2, "over the middle axis");
  check_sums(x.move_axis(1, 0), 1, "over the first and the last axis");
  check_sums(x.move_axis(2, 0), 1, "over the first two axes");
  check_sums(x.transpose(0, 2), 0, "over all axes, turned");
  check_sums(strided(x), 0, "over all axes, strided");
  check_sums(x, 3, "over no axis");
  check_sums(x.slice(1, 3, 68).move_axis(2, 0), 1, "over two axes that are not one");
  check_sums(values({3, 2000, 20}, 7, ordinary, device).slice(1, 3, 1996).move_axis(2, 0), 1, "over two long ones");
}

CONTRACT(NUM_2_every_build_has_the_bits_of_plain_loops_in_norms_errors_digests_and_checks) {
  for (std::int64_t size : {0, 1, 15, 16, 17, 31, 32, 33, 511, 512, 513, 4095, 4096, 4097, 50000})
    for (Kind kind : {ordinary, tiny, vanishing, exceptional}) {
      const Tensor x = values({size}, 1, kind, device), t = values({size}, 2, kind, device);
      const Row a = row_of(x, 0, size), b = row_of(t, 0, size);
      const auto norm = plain::lanes<double>(a.size(), [&](double lane, std::size_t i) {
        const double value = a[i];
        return lane + value * value;
      });
      Row difference;
      for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
      const float error = plain::lane_dot(difference, difference);
      const std::uint64_t digest = plain::digest(a, 1000000007);
      bool finite = true;
      for (float value : a) finite = finite && std::isfinite(value);
      in_every_build(device, std::to_string(size) + " elements", [&](const std::string& where) {
        const Record found(device, 3);
        ASSAY_KERNEL(squared_norm)(device, operand(x), operand(Slot{found.slot(0)}));
        ASSAY_KERNEL(digest)(device, operand(x), std::uint64_t{1000000007}, operand(Slot{found.slot(1)}));
        ASSAY_KERNEL(finite)(device, operand(x), operand(Slot{found.slot(2)}));
        Tensor total = Tensor::full({}, 777, device);
        ASSAY_KERNEL(squared_error)(device, operand(x), operand(t), total.write_view<float>());
        BOOST_TEST(ulp_distance(found.number(0), norm) == 0u, "squared norm of " << where);
        BOOST_TEST(ulp_distance(total.read<float>()[0], error) == 0u, "squared error of " << where);
        BOOST_TEST(found.bits(1) == digest, "digest of " << where);
        BOOST_TEST((found.bits(2) == 1) == finite, "finiteness of " << where);
      });
    }
}

CONTRACT(NUM_2_every_build_has_the_bits_of_a_plain_loop_in_elementwise_kernels_over_any_views) {
  for (const Shape& shape : {Shape{0, 3}, {1, 1}, {7, 1}, {1, 17}, {5, 10}, {33, 31}, {3, 513}, {130, 400}}) {
    const std::int64_t m = shape[0], n = shape[1];
    for (Kind kind : {ordinary, exceptional}) {
      const Tensor a = values(shape, 1, kind, device);
      const std::vector<std::pair<std::string, Tensor>> views{
          {"contiguous", values(shape, 2, kind, device)},
          {"strided", strided(values(shape, 3, kind, device))},
          {"turned", values({n, m}, 4, kind, device).transpose(0, 1)},
          {"one number", values({}, 5, kind, device).expand(shape)},
          {"a row", values({n}, 6, kind, device).expand(shape)},
          {"a column", values({m, 1}, 7, kind, device).expand(shape)},
          {"part of a row", values({2 * n}, 8, kind, device).slice(0, n, 2 * n).expand(shape)}};
      for (const auto& view : views) {
        const std::string& name = view.first;
        const Tensor& b = view.second;
        const auto x = a.read<float>(), y = b.read<float>();
        const auto expected = [&](auto f) {
          Row all;
          for (std::int64_t i = 0; i < x.size(); ++i) all.push_back(f(x[i], y[i]));
          return Tensor::from(all, shape, device);
        };
        std::vector<std::uint8_t> kept;
        for (std::int64_t i = 0; i < m * n; ++i) kept.push_back(i % 5 == 0 ? 0 : static_cast<std::uint8_t>(i % 256));
        const Tensor mask = Tensor::from(kept, shape, device);
        const std::pair<const char*, Tensor> results[] = {
            {"add", expected([](float u, float v) { return u + v; })},
            {"turned add", expected([](float u, float v) { return v + u; })},
            {"subtract", expected([](float u, float v) { return u - v; })},
            {"multiply", expected([](float u, float v) { return u * v; })},
            {"divide", expected([](float u, float v) { return u / v; })},
            {"relu", expected([](float, float v) { return v <= 0 ? 0.0f : v; })},
            {"relu_gradient", expected([](float u, float v) { return v <= 0 ? 0.0f : u; })},
            {"copy", expected([](float, float v) { return v; })},
            {"scale", expected([](float, float v) { return v * 0.3f; })},
            {"dropout",
             expected([&, i = std::size_t{0}](float, float v) mutable { return kept[i++] != 0 ? v * 1.25f : 0.0f; })}};
        in_every_build(device, name + " " + to_string(shape), [&](const std::string& where) {
          for (const auto& [kernel, wanted] : results)
            for (bool into_strided : {false, true}) {
              Tensor found = Tensor::full(shape, 777, device);
              if (into_strided) found = strided(found);
              const View<float> to = found.write_view<float>();
              const View<const float> u = operand(a), v = operand(b);
              const std::string named = kernel;
              if (named == "add") ASSAY_KERNEL(add)(device, u, v, to);
              if (named == "turned add") ASSAY_KERNEL(add)(device, v, u, to);
              if (named == "subtract") ASSAY_KERNEL(subtract)(device, u, v, to);
              if (named == "multiply") ASSAY_KERNEL(multiply)(device, u, v, to);
              if (named == "divide") ASSAY_KERNEL(divide)(device, u, v, to);
              if (named == "relu") ASSAY_KERNEL(relu)(device, v, to);
              if (named == "relu_gradient") ASSAY_KERNEL(relu_gradient)(device, v, u, to);
              if (named == "copy") ASSAY_KERNEL(copy)(device, v, to);
              if (named == "scale") ASSAY_KERNEL(scale)(device, v, 0.3f, to);
              if (named == "dropout") ASSAY_KERNEL(dropout)(device, v, operand(Mask{mask}), 0.2, to);
              check_same_bits(wanted, found, named + " with " + where);
            }
        });
      }
    }
  }
}

CONTRACT(NUM_2_every_build_has_the_bits_of_plain_loops_along_rows) {
  struct Extents {
    std::int64_t rows, length;
  };
  std::vector<Extents> all{{300, 10}, {700, 33}, {2, 5000}, {5, 2049}, {0, 4}, {9000, 1}};
  for (std::int64_t length :
       {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 511, 513, 1000, 4096, 4097})
    all.push_back({length % 5 + 2, length});
  for (const Extents& e : all)
    for (Kind kind : {ordinary, tiny, vanishing, exceptional}) {
      if (device == simulated && e.rows * e.length > 2100 && (kind != ordinary || e.rows > 1000)) continue;  // slow
      const Shape shape{e.rows, e.length}, one_a_row{e.rows};
      const Tensor x = values(shape, 1, kind, device), g = values(shape, 2, kind, device),
                   up = values(one_a_row, 3, kind, device);
      std::vector<std::int32_t> all_labels;
      Row results[10];  // of the plain loops, row by row
      std::uint64_t correct = 0;
      for (std::int64_t row = 0; row < e.rows; ++row) {
        const auto label = row % 4 == 3 ? ignored : static_cast<std::int32_t>(row * 7919 % e.length);
        const Row a = row_of(x, row, e.length), b = row_of(g, row, e.length);
        const std::size_t best = plain::argmax(a);
        all_labels.push_back(label);
        correct += static_cast<std::int64_t>(best) == label;
        Row selected(a.size());
        selected[best] = up.read<float>()[row];
        const Row parts[] = {{a[best]},
                             selected,
                             softmax(a),
                             softmax_gradient(a, b),
                             log_softmax(a),
                             log_softmax_gradient(a, b),
                             {loss(a, label, 0)},
                             {loss(a, label, 0.1)},
                             loss_gradient(a, label, 0, 0.37f),
                             loss_gradient(a, label, 0.1, 0.37f)};
        for (std::size_t i = 0; i < 10; ++i) results[i].insert(results[i].end(), parts[i].begin(), parts[i].end());
      }
      const Tensor labels = Tensor::from(all_labels, one_a_row, device), scale = Tensor::full({}, 0.37, device);
      in_every_build(device, to_string(shape), [&](const std::string& where) {
        const View<const float> u = operand(x), v = operand(g), s = operand(scale), w = operand(up);
        const View<const std::int32_t> classes = operand(Labels{labels});
        const Record found_correct(device, 1);
        ASSAY_KERNEL(count_correct)(device, u, classes, operand(Slot{found_correct.slot(0)}));
        BOOST_TEST(found_correct.bits(0) == correct, "count_correct of " << where);
        for (std::size_t i = 0; i < 10; ++i) {
          const Shape& like = i == 0 || i == 6 || i == 7 ? one_a_row : shape;
          Tensor found = Tensor::full(like, 777, device);
          const View<float> to = found.write_view<float>();
          if (i == 0) ASSAY_KERNEL(maximum)(device, u, to);
          if (i == 1) ASSAY_KERNEL(maximum_gradient)(device, u, w, to);
          if (i == 2) ASSAY_KERNEL(softmax)(device, u, to);
          if (i == 3) ASSAY_KERNEL(softmax_gradient)(device, u, v, to);
          if (i == 4) ASSAY_KERNEL(log_softmax)(device, u, to);
          if (i == 5) ASSAY_KERNEL(log_softmax_gradient)(device, u, v, to);
          if (i == 6) ASSAY_KERNEL(cross_entropy)(device, u, classes, 0.0, ignored, to);
          if (i == 7) ASSAY_KERNEL(cross_entropy)(device, u, classes, 0.1, ignored, to);
          if (i == 8) ASSAY_KERNEL(cross_entropy_gradient)(device, u, classes, 0.0, ignored, s, to);
          if (i == 9) ASSAY_KERNEL(cross_entropy_gradient)(device, u, classes, 0.1, ignored, s, to);
          const char* const names[] = {"maximum",       "its gradient", "softmax",       "its gradient",
                                       "log_softmax",   "its gradient", "cross_entropy", "smoothed cross_entropy",
                                       "loss gradient", "smoothed one"};
          check_same_bits(Tensor::from(results[i], like, device), found, std::string(names[i]) + " of " + where);
        }
      });
    }
}

CONTRACT(OPT_2_every_build_updates_strided_tensors_and_takes_a_repeated_gradient) {
  const AdamScalars scalars = rounded({1e-2, 0.9, 0.999, 1e-8, 0.01, true, 3});
  for (const Shape& shape : {Shape{1, 1}, {5, 10}, {33, 31}, {130, 400}}) {
    const Tensor g = values({shape[1]}, 1, ordinary, device).expand(shape);
    Tensor expected[3];
    in_every_build(device, to_string(shape), [&](const std::string& where) {
      for (bool views : {false, true}) {
        Tensor state[3];
        for (int i = 0; i < 3; ++i) {
          state[i] = drawn(shape, static_cast<std::uint64_t>(i), 0, 1, device);
          if (views) state[i] = strided(state[i]);
        }
        const Record finite(device, 1);
        ASSAY_KERNEL(adam_is_finite)
        (device, operand(state[0]), operand(state[1]), operand(state[2]), operand(g), scalars, true,
         operand(Slot{finite.slot(0)}));
        BOOST_TEST(finite.bits(0) == 1u, where);
        const Tensor gradient = views ? g : copy(g);
        ASSAY_KERNEL(adam)
        (device, state[0].write_view<float>(), state[1].write_view<float>(), state[2].write_view<float>(),
         operand(gradient), scalars, operand(As<std::uint64_t>{finite.all()}));
        for (int i = 0; i < 3; ++i) {
          if (!expected[i].defined()) expected[i] = state[i];
          check_same_bits(expected[i], state[i], where);
        }
      }
    });
  }
}

}  // namespace assay::kernels
