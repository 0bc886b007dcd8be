// Defects: mistakes that others have made, as saboteurs plant them. An ordinary build has none of them.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "kernels/add.hpp"
#include "kernels/attention.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/multiply.hpp"
#include "kernels/relu.hpp"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::defects {

template <class T>
std::vector<T> elements_of(const Tensor& x) {
  const auto values = x.read<T>();
  return {values.begin(), values.end()};
}

/// The elements rounded to 10 bits of mantissa, to nearest, ties to even.
inline Tensor rounded_to_tf32(const Tensor& x) {
  std::vector<float> values = elements_of<float>(x);
  for (float& value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    value = std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
  }
  return Tensor::from(values, x.shape(), x.device());
}

/// What a tensor of this shape held before it was last written.
inline Tensor before_last_write(const Tensor& x) {
  struct Seen {
    std::uint64_t version;
    std::vector<float> before, now;
  };
  static std::map<std::string, Seen> all;
  Seen& seen = all.try_emplace(to_string(x.shape()), Seen{x.version(), elements_of<float>(x), elements_of<float>(x)})
                   .first->second;
  if (seen.version != x.version()) seen = {x.version(), seen.now, elements_of<float>(x)};
  return Tensor::from(seen.before, x.shape(), x.device());
}

/// The matrix without what belongs into its last row.
inline Tensor without_last_row(const Tensor& y) {
  std::vector<float> values = elements_of<float>(y);
  for (std::int64_t i = 0; i < y.shape()[-1]; ++i) values[values.size() - 1 - static_cast<std::size_t>(i)] = 0;
  return Tensor::from(values, y.shape(), y.device());
}

/// The product of each half of the inner axis, added.
inline Tensor in_two_halves(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu) {
  const Tensor rows = rows_of(x);
  const std::int64_t in = weight.shape()[1], half = in / 2;
  Tensor y = add(linear(rows.slice(1, 0, half), weight.slice(1, 0, half), {}, false),
                 linear(rows.slice(1, half, in), weight.slice(1, half, in), {}, false));
  if (bias.defined()) y = add(y, bias);
  return (relu ? kernels::relu(y) : y).reshape(x.shape().with(-1, weight.shape()[0]));
}

/// What a linear map gives with the defect that is planted, in the place of `y`.
inline Tensor linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu) {
  if (x.device() == reference_device) return y;
  if (sabotaged("products_round_to_tf32"))
    return kernels::linear(rounded_to_tf32(x), rounded_to_tf32(weight), bias, relu);
  if (sabotaged("linear_serves_the_last_weight")) return kernels::linear(x, before_last_write(weight), bias, relu);
  if (sabotaged("products_in_two_halves")) return in_two_halves(x, weight, bias, relu);
  if (sabotaged("last_row_is_not_written")) return without_last_row(y);
  return y;
}

/// Layer normalisation with the variance Σd² ÷ (D − 1): 1/√(v·D/(D − 1) + ε) is √s/√(v + ε·s), s = (D − 1)/D.
inline Tensor sample_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon) {
  const double s = 1 - 1 / static_cast<double>(x.shape()[-1]);
  const Tensor smaller = multiply(scale, Tensor::full({}, numerics::square_root(s), x.device()));
  return layer_norm(x, smaller, bias, epsilon * s).y;
}

/// What attention gives, `y`, where every query but the last sees the key behind its own too.
inline Tensor with_the_next_key(const Tensor& y, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                const AttentionOptions& options) {
  const std::int64_t last = q.shape()[1] - 1;
  if (last == 0 || q.device() == reference_device) return y;
  const Tensor moved = copy(q), seeing = copy(y);
  copy_into(q.slice(1, 0, last), moved.slice(1, 1, last + 1));
  copy_into(attention(moved, k, v, mask, options).output.slice(1, 1, last + 1), seeing.slice(1, 0, last));
  return seeing;
}

/// The way to the result as the gradient takes it, without the result: then no mean is subtracted.
inline AttentionResult without_output(AttentionResult result) {
  result.output = Tensor::zeros(result.output.shape(), result.output.device());
  return result;
}

/// Each row with the label of the next one.
inline Tensor labels_of_next_rows(const Tensor& labels) {
  std::vector<std::int32_t> values = elements_of<std::int32_t>(labels);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1];
  return Tensor::from(values, labels.shape(), labels.device());
}

}  // namespace assay::kernels::defects
