// Attention under a hypothesis: one sum after the other, as its formula stands.
#include "kernels/attention.hpp"

#include "device/cpu/scratch.hpp"
#include "numerics/exp.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

/// Row `t` of one head of one sample, of a tensor [B, T, H·d].
template <class T>
T* head_row(const View<T>& x, std::int64_t heads, std::int64_t head, std::int64_t t) {
  return x.data + head / heads * x.stride[0] + t * x.stride[1] + head % heads * (x.extent[2] / heads);
}

/// Σ a(k)·b(k) over k in [begin, end), in chain order.
template <class A, class B>
float chain(std::int64_t begin, std::int64_t end, A a, B b) {
  return numerics::chain_dot(
      static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
      [&](std::size_t k) -> float { return a(static_cast<std::int64_t>(k)); },
      [&](std::size_t k) -> float { return b(static_cast<std::int64_t>(k)); });
}
float dot(std::int64_t width, const float* a, const float* b) {
  return chain(
      0, width, [=](std::int64_t j) { return a[j]; }, [=](std::int64_t j) { return b[j]; });
}

}  // namespace

void attention(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
               AttentionFactors factors, View<float> output, View<float> most, View<float> sum,
               View<float> exponentials) {
  const std::int64_t count = q.extent[1], keys = k.extent[1], offset = keys - count,
                     width = q.extent[2] / factors.heads, heads = factors.heads;
  const float scale = factors.scale, kept = factors.kept;
  auto* const e = static_cast<float*>(thread_scratch(static_cast<std::size_t>(keys) * sizeof(float)));
  for (std::int64_t row = 0; row < q.extent[0] * heads * count; ++row) {
    const std::int64_t head = row / count, query = row % count, seen = offset + query + 1;
    auto weight = [&](std::int64_t n) -> float& { return e[n]; };
    float best = -__builtin_inff();
    for (std::int64_t n = 0; n < seen; ++n) {
      weight(n) = dot(width, head_row(q, heads, head, query), head_row(k, heads, head, n)) * scale;
      best = numerics::maximum(best, weight(n));
    }
    for (std::int64_t n = 0; n < seen; ++n) weight(n) = numerics::exp(weight(n) - best);
    most.data[row] = best;
    sum.data[row] = numerics::chain_sum(0, static_cast<std::size_t>(seen), [&](std::size_t n) { return e[n]; });
    for (std::int64_t n = 0; n < seen && exponentials.data != nullptr; ++n)
      exponentials.data[(head * keys + n) * count + query] = weight(n);
    for (std::int64_t n = 0; n < seen && mask.data != nullptr; ++n)
      weight(n) = mask.data[row * keys + n] != 0 ? weight(n) * kept : 0;
    for (std::int64_t j = 0; j < width; ++j)
      head_row(output, heads, head, query)[j] =
          chain(0, seen, weight, [&](std::int64_t n) { return head_row(v, heads, head, n)[j]; }) / sum.data[row];
  }
}

void attention_gradient(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
                        AttentionFactors factors, View<const float> output, View<const float> most,
                        View<const float> sum, View<const float> exponentials, View<const float> upstream,
                        View<float> q_gradient, View<float> k_gradient, View<float> v_gradient) {
  const std::int64_t count = q.extent[1], keys = k.extent[1], offset = keys - count,
                     width = q.extent[2] / factors.heads, heads = factors.heads;
  const float scale = factors.scale, kept = factors.kept;
  // Of one head, [Tq, Tk]: p·(g − δ), and the dropped p.
  auto* const by_score =
      static_cast<float*>(thread_scratch(static_cast<std::size_t>(2 * count * keys) * sizeof(float)));
  float* const weights = by_score + count * keys;
  for (std::int64_t head = 0; head < q.extent[0] * heads; ++head) {
    for (std::int64_t query = 0; query < count; ++query) {
      const std::int64_t row = head * count + query;
      const float *own = head_row(q, heads, head, query), *g = head_row(upstream, heads, head, query);
      const float delta = dot(width, g, head_row(output, heads, head, query));
      for (std::int64_t n = 0; n <= offset + query; ++n) {
        const float e = exponentials.data != nullptr
                            ? exponentials.data[(head * keys + n) * count + query]
                            : numerics::exp(dot(width, own, head_row(k, heads, head, n)) * scale - most.data[row]);
        const float p = e / sum.data[row], by_weight = dot(width, g, head_row(v, heads, head, n));
        auto selected = [&](float x) {
          return mask.data == nullptr ? x : mask.data[row * keys + n] != 0 ? x * kept : 0;
        };
        by_score[query * keys + n] = p * (selected(by_weight) - delta);
        weights[query * keys + n] = selected(p);
      }
    }
    for (std::int64_t j = 0; j < width; ++j) {
      for (std::int64_t query = 0; query < count; ++query)
        head_row(q_gradient, heads, head, query)[j] =
            chain(
                0, offset + query + 1, [&](std::int64_t n) { return by_score[query * keys + n]; },
                [&](std::int64_t n) { return head_row(k, heads, head, n)[j]; }) *
            scale;
      for (std::int64_t n = 0; n < keys; ++n) {
        auto over_queries = [&](const float* by, const View<const float>& rows) {
          return chain(
              n < offset ? offset : n, keys, [&](std::int64_t t) { return by[(t - offset) * keys + n]; },
              [&](std::int64_t t) { return head_row(rows, heads, head, t - offset)[j]; });
        };
        head_row(k_gradient, heads, head, n)[j] = over_queries(by_score, q) * scale;
        head_row(v_gradient, heads, head, n)[j] = over_queries(weights, upstream);
      }
    }
  }
}

}  // namespace assay::kernels::ASSAY_ISA
