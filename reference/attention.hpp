// Causal attention of the oracle: every formula written out over one weight after the other.
#pragma once

#include <array>
#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// The weights of one head of one sample, [Tq, Tk], of query t over keys up to that of its own.
struct AttentionHead {
  std::int64_t sample, head, queries, keys, width, row;  ///< row: elements of a row of all heads

  AttentionHead(const Array& q, const Array& k, std::int64_t heads, std::int64_t index)
      : sample(index / heads),
        head(index % heads),
        queries(q.shape[1]),
        keys(k.shape[1]),
        width(q.shape[2] / heads),
        row(q.shape[2]) {}
  std::int64_t query(std::int64_t t, std::int64_t j) const { return (sample * queries + t) * row + head * width + j; }
  std::int64_t key(std::int64_t k, std::int64_t j) const { return (sample * keys + k) * row + head * width + j; }
  std::int64_t seen(std::int64_t t) const { return keys - queries + t + 1; }
  std::int64_t weight(std::int64_t t, std::int64_t k, std::int64_t heads) const {
    return ((sample * heads + head) * queries + t) * keys + k;
  }

  /// softmax(q·k ÷ √d) of query t.
  std::vector<double> weights(const Array& q, const Array& k, std::int64_t t) const {
    std::vector<double> p(static_cast<std::size_t>(seen(t)));
    double most = -INFINITY, sum = 0;
    for (std::int64_t n = 0; n < seen(t); ++n) {
      double score = 0;
      for (std::int64_t j = 0; j < width; ++j) score += q[query(t, j)] * k[key(n, j)];
      p[static_cast<std::size_t>(n)] = score / std::sqrt(static_cast<double>(width));
      most = std::fmax(most, p[static_cast<std::size_t>(n)]);
    }
    for (double& value : p) sum += value = std::exp(value - most);
    for (double& value : p) value /= sum;
    return p;
  }
};

/// What a weight is multiplied by: 1 ÷ (1 − p) or 0, without a mask 1.
inline double attention_factor(const Array& mask, std::int64_t index, double p) {
  return mask.values.empty() ? 1 : mask[index] != 0 ? 1 / (1 - p) : 0;
}

/// Σ over the keys that a query sees of softmax(q·k ÷ √d)·factor·v.
inline Array attention(const Array& q, const Array& k, const Array& v, const Array& mask, std::int64_t heads,
                       double p) {
  Array output = zeros(q.shape);
  for (std::int64_t index = 0; index < q.shape[0] * heads; ++index) {
    const AttentionHead head(q, k, heads, index);
    for (std::int64_t t = 0; t < head.queries; ++t) {
      const std::vector<double> weights = head.weights(q, k, t);
      for (std::int64_t n = 0; n < head.seen(t); ++n)
        for (std::int64_t j = 0; j < head.width; ++j)
          output[head.query(t, j)] += weights[static_cast<std::size_t>(n)] *
                                      attention_factor(mask, head.weight(t, n, heads), p) * v[head.key(n, j)];
    }
  }
  return output;
}

/// Gradients by q, k and v, by the chain rule through the weights.
inline std::array<Array, 3> attention_gradient(const Array& q, const Array& k, const Array& v, const Array& mask,
                                               std::int64_t heads, double p, const Array& upstream) {
  std::array<Array, 3> gradient{zeros(q.shape), zeros(k.shape), zeros(v.shape)};
  for (std::int64_t index = 0; index < q.shape[0] * heads; ++index) {
    const AttentionHead head(q, k, heads, index);
    const double scale = 1 / std::sqrt(static_cast<double>(head.width));
    for (std::int64_t t = 0; t < head.queries; ++t) {
      const std::vector<double> weights = head.weights(q, k, t);
      std::vector<double> by_weight(weights.size());
      double mean = 0;
      for (std::int64_t n = 0; n < head.seen(t); ++n) {
        const auto at = static_cast<std::size_t>(n);
        const double factor = attention_factor(mask, head.weight(t, n, heads), p);
        for (std::int64_t j = 0; j < head.width; ++j) {
          by_weight[at] += upstream[head.query(t, j)] * v[head.key(n, j)] * factor;
          gradient[2][head.key(n, j)] += weights[at] * factor * upstream[head.query(t, j)];
        }
        mean += weights[at] * by_weight[at];
      }
      for (std::int64_t n = 0; n < head.seen(t); ++n) {
        const auto at = static_cast<std::size_t>(n);
        const double by_score = weights[at] * (by_weight[at] - mean) * scale;
        for (std::int64_t j = 0; j < head.width; ++j) {
          gradient[0][head.query(t, j)] += by_score * k[head.key(n, j)];
          gradient[1][head.key(n, j)] += by_score * q[head.query(t, j)];
        }
      }
    }
  }
  return gradient;
}

}  // namespace assay::reference
