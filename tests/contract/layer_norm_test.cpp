// Contract of layer normalisation.
#include "autograd/layer_norm.hpp"

#include <limits>

#include "numerics/rsqrt.hpp"
#include "support/builds.hpp"
#include "support/operation.hpp"
#include "support/plain_loops.hpp"

namespace assay::kernels {  // where a kernel is called by its name

using namespace assay::test;

namespace {

using Row = std::vector<float>;
constexpr float infinity_32 = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

Row elements_of(const Tensor& x) {
  const auto all = x.read<float>();
  return {all.begin(), all.end()};
}

// The formulas in the header, as plain loops over all rows.
struct Expected {
  Row y, statistics, by_x, by_scale, by_bias;
};
Expected expected(const Row& x, const Row& scale, const Row& bias, const Row& upstream, float epsilon) {
  const std::size_t length = scale.size(), rows = x.size() / length;
  const auto count = static_cast<float>(length);
  Expected all{x, Row(2 * rows), x, {}, {}};
  Row n = x;
  for (std::size_t begin = 0, row = 0; begin < x.size(); begin += length, ++row) {
    const auto of_row = [&](const Row& from) {
      return Row(from.begin() + static_cast<std::ptrdiff_t>(begin),
                 from.begin() + static_cast<std::ptrdiff_t>(begin + length));
    };
    const float mean = plain::lane_sum(of_row(x)) / count;
    for (std::size_t i = begin; i < begin + length; ++i) n[i] = x[i] - mean;
    const float variance = plain::lane_dot(of_row(n), of_row(n)) / count, r = numerics::rsqrt(variance + epsilon);
    Row g;
    for (std::size_t i = begin; i < begin + length; ++i) {
      n[i] = n[i] * r;
      all.y[i] = std::fma(n[i], scale[i - begin], bias[i - begin]);
      g.push_back(upstream[i] * scale[i - begin]);
    }
    const float a = plain::lane_sum(g) / count, b = plain::lane_dot(g, of_row(n)) / count;
    for (std::size_t i = begin; i < begin + length; ++i) {
      const float product = n[i] * b;
      all.by_x[i] = r * ((g[i - begin] - a) - product);
    }
    all.statistics[row] = mean;
    all.statistics[rows + row] = r;
  }
  const auto number = static_cast<std::int64_t>(rows), apart = static_cast<std::int64_t>(length);
  const Row ones(rows, 1);
  for (std::size_t column = 0; column < length; ++column) {
    const float *u = upstream.data() + column, *normal = n.data() + column;
    all.by_scale.push_back(plain::chain_dot(number, u, apart, normal, apart));
    all.by_bias.push_back(plain::chain_dot(number, ones.data(), 1, u, apart));
  }
  return all;
}

// Rows of numbers; of numbers far from 0; of numbers whose squares are no normal ones; of one number again and again;
// and with a NaN or an infinity_32 in every third.
enum class Rows { ordinary, shifted, tiny, constant, exceptional };
Tensor rows_of_kind(const Shape& shape, Rows kind, Device device) {
  Row all = elements_of(drawn(shape, 1, -2, 2));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(shape[-1]);
    if (kind == Rows::shifted) all[i] = all[i] + 1000;
    if (kind == Rows::tiny) all[i] = all[i] * 0x1p-70f;
    if (kind == Rows::constant) all[i] = static_cast<float>(row) * 0.1f - 0.2f;
    if (kind == Rows::exceptional && row % 3 == 1 && i % 7 == 3) all[i] = row % 2 == 0 ? nan : -infinity_32;
  }
  return Tensor::from(all, shape, device);
}

}  // namespace

CONTRACT(NUM_2_every_build_has_the_bits_of_plain_loops_in_layer_norm) {
  for (const Shape& shape : {Shape{0, 3},
                             {7, 1},
                             {5, 31},
                             {17, 32},
                             {6, 33},
                             {3, 257},
                             {70, 128},
                             {3, 2049},
                             {2, 4097},
                             {511, 3},
                             {513, 35},
                             {1030, 18},
                             {2, 1100}})
    for (Rows kind : {Rows::ordinary, Rows::shifted, Rows::tiny, Rows::constant, Rows::exceptional}) {
      if (kind != Rows::ordinary && shape.size() > (device == simulated ? 500 : 9000)) continue;
      const std::int64_t length = shape[1];
      const Tensor x = rows_of_kind(shape, kind, device), u = drawn(shape, 2, -2, 2, device),
                   scale = drawn({length}, 3, 0.5, 1.5, device), bias = drawn({length}, 4, -1, 1, device);
      const float epsilon = kind == Rows::tiny ? 0x1p-140f : 1e-5f;
      const Expected all = expected(elements_of(x), elements_of(scale), elements_of(bias), elements_of(u), epsilon);
      const auto of = [&](const Row& row, const Shape& like) { return Tensor::from(row, like, device); };
      in_every_build(device, "layer_norm of " + to_string(shape), [&](const std::string& where) {
        Tensor y = Tensor::full(shape, 777, device), statistics = Tensor::full({2, shape[0]}, 777, device),
               by_x = Tensor::full(shape, 777, device), by_scale = Tensor::full({length}, 777, device);
        const View<const float> from = operand(x), up = operand(u), s = operand(scale);
        ASSAY_KERNEL(layer_norm)
        (device, from, s, operand(bias), static_cast<double>(epsilon), statistics.write_view<float>(),
         y.write_view<float>());
        check_same_bits(of(all.statistics, {2, shape[0]}), statistics, "statistics, " + where);
        check_same_bits(of(all.y, shape), y, where);
        ASSAY_KERNEL(layer_norm_gradient)(device, from, operand(statistics), s, up, by_x.write_view<float>());
        check_same_bits(of(all.by_x, shape), by_x, "gradient by x, " + where);
        ASSAY_KERNEL(layer_norm_scale_gradient)
        (device, from, operand(statistics), up, by_scale.write_view<float>());
        check_same_bits(of(all.by_scale, {length}), by_scale, "gradient by scale, " + where);
      });
    }
}

CONTRACT(NUM_8_layer_norm_and_its_gradients_are_the_stated_expressions) {
  const Shape shape{3, 5, 77};
  const Tensor x = drawn(shape, 1, -3, 5, device), scale = drawn({77}, 2, 0.5, 1.5, device),
               bias = drawn({77}, 3, -1, 1, device), u = drawn(shape, 4, -1, 1, device);
  const Expected all = expected(elements_of(x), elements_of(scale), elements_of(bias), elements_of(u), 1e-5f);
  const Variable leaves[] = {Variable::leaf(x), Variable::leaf(scale), Variable::leaf(bias)};
  const Variable y = assay::layer_norm(leaves[0], leaves[1], leaves[2], 1e-5);
  y.backward(u);
  check_same_bits(Tensor::from(all.y, shape), y.value(), "layer_norm");
  check_same_bits(Tensor::from(all.by_x, shape), leaves[0].gradient(), "gradient by x");
  check_same_bits(Tensor::from(all.by_scale, {77}), leaves[1].gradient(), "gradient by scale");
  check_same_bits(Tensor::from(all.by_bias, {77}), leaves[2].gradient(), "gradient by bias");
}

}  // namespace assay::kernels

using namespace assay;
using namespace assay::test;

namespace {

Variable norm_of(const std::vector<Variable>& in) { return layer_norm(in[0], in[1], in[2], 1e-5); }

}  // namespace

CONTRACT(CHECK_1_layer_norm_matches_the_oracle_at_awkward_sizes) {
  const auto check = [&](const std::string& name, const Shape& shape, double low, double high, double ulps) {
    check_operation(device, name, norm_of,
                    {drawn(shape, 1, low, high), drawn({shape[-1]}, 2, 0.5, 1.5), drawn({shape[-1]}, 3)}, ulps);
  };
  for (std::int64_t size : {1, 31, 32, 33, 257}) check("layer_norm", {3, size}, -3, 3, 8);
  check("layer_norm of a vector", {7}, -3, 3, 8);
  check("layer_norm over several axes", {2, 3, 10}, -3, 3, 8);
  check("layer_norm of long rows", {1, 4100}, -3, 3, 8);
  check("layer_norm on several threads", {700, 33}, -3, 3, 64);
  check("layer_norm far from 0", {3, 40}, 10, 12, 64);
  check("layer_norm of no rows", {0, 5}, -3, 3, 8);
}

CONTRACT(NUM_3_a_row_of_layer_norm_does_not_depend_on_the_batch) {
  const Tensor x = drawn({5, 65}, 1, -3, 3, device), scale = drawn({65}, 2, device), bias = drawn({65}, 3, device);
  const Tensor all = norm_of({x, scale, bias}).value();
  for (std::int64_t row = 0; row < 5; ++row)
    check_same_bits(all.slice(0, row, row + 1), norm_of({x.slice(0, row, row + 1), scale, bias}).value(),
                    "row " + std::to_string(row));
}

CONTRACT(LAYER_3_layer_norm_divides_the_squares_by_the_number_of_elements) {
  // A deviation of 1 and ε = 3: half of what the row is away from its mean.
  const Tensor x = Tensor::from<float>({6, 4, 6, 4, -1, 1, 1, -1}, {2, 4}, device);
  const Tensor scale = Tensor::from<float>({1, 2, 4, 8}, {4}, device), bias = Tensor::full({4}, 10, device);
  check_same_bits(Tensor::from<float>({10.5, 9, 12, 6, 9.5, 11, 12, 6}, {2, 4}, device),
                  layer_norm(x, scale, bias, 3).value(), "layer_norm");
}

CONTRACT(LAYER_3_a_constant_row_and_one_whose_squares_overflow_become_the_bias) {
  const Tensor scale = drawn({64}, 2, device), bias = drawn({64}, 3, device);
  std::vector<float> large(64, 0x1p80f);
  large[5] = -0x1p80f;
  for (const Tensor& x : {Tensor::full({64}, 0.7, device), Tensor::from(large, {64}, device)})
    check_same_bits(bias, norm_of({x, scale, bias}).value(), "layer_norm");
}

CONTRACT(GRAPH_14_a_NaN_or_an_infinity_makes_its_row_NaN_and_no_other) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from<float>({1, nan, 2, 1, infinity, 2, 1, -1, 3}, {3, 3}, device),
               ones = Tensor::full({3}, 1, device);
  const auto y = norm_of({x, ones, ones}).value().read<float>();
  for (std::int64_t i = 0; i < 9; ++i) BOOST_TEST((y[i] == y[i]) == (i >= 6), "element " << i);
}

CONTRACT(LAYER_3_layer_norm_refuses_other_shapes_and_an_epsilon_of_0) {
  const Tensor x = drawn({2, 3}, 1, device), row = drawn({3}, 2, device);
  const auto refused = [&](const Tensor& in, const Tensor& scale, const Tensor& bias, const std::string& found) {
    check_refused(
        [&] {
          norm_of({in, scale, bias});
        },
        "LAYER-3", "layer_norm: expected shapes […, D], [D] and [D] with D > 0, found " + found);
  };
  refused(drawn({}, 1, device), row, row, "[], [3] and [3]");
  refused(x, drawn({2}, 1, device), row, "[2, 3], [2] and [3]");
  refused(x, row, drawn({1, 3}, 1, device), "[2, 3], [3] and [1, 3]");
  refused(drawn({2, 0}, 1, device), drawn({0}, 1, device), drawn({0}, 1, device), "[2, 0], [0] and [0]");
  for (const double epsilon : {0.0, -1e-5, 1e-60, std::nan("")})
    check_refused([&] { layer_norm(x, row, row, epsilon); }, "LAYER-3", "layer_norm: expected an epsilon above 0");
  check_refused([&] { norm_of({x, row.to(reference_device), row}); }, "GRAPH-13", "reference");
  check_refused([&] { norm_of({x, row, row.to(reference_device)}); }, "GRAPH-13", "reference");
}
