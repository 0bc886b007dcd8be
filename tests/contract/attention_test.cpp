// Contract of attention.
#include "autograd/attention.hpp"

#include <cmath>
#include <limits>

#include "numerics/exp.hpp"
#include "support/builds.hpp"
#include "support/operation.hpp"
#include "support/plain_loops.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using Floats = std::vector<float>;

Floats floats_of(const Tensor& x) {
  const auto all = x.read<float>();
  return {all.begin(), all.end()};
}

/// Σ a(k)·b(k) over k in [begin, end), in blocks of 512 that are anchored at 0.
template <class A, class B>
float anchored_chain(std::int64_t begin, std::int64_t end, A a, B b) {
  float total = 0;
  bool first = true;
  for (std::int64_t k = begin; k < end; first = false) {
    float part = 0;
    const std::int64_t stop = std::min(end, (k / 512 + 1) * 512);
    for (; k < stop; ++k) part = std::fma(a(k), b(k), part);
    total = first ? part : total + part;
  }
  return total;
}

struct Attended {
  Floats output, by_q, by_k, by_v;
};

/// The formulas in the header as plain loops; an empty mask keeps all.
Attended attended(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in, const std::vector<std::uint8_t>& mask,
                  const AttentionOptions& options, const Tensor& upstream_in) {
  const Floats q = floats_of(q_in), k = floats_of(k_in), v = floats_of(v_in), upstream = floats_of(upstream_in);
  Attended all{q, q, k, v};
  const std::int64_t heads = options.heads, queries = q_in.shape()[1], keys = k_in.shape()[1], row = q_in.shape()[2],
                     width = row / heads, offset = keys - queries;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  const auto factor = static_cast<float>(1 / (1 - options.p));
  for (std::int64_t head = 0; head < q_in.shape()[0] * heads; ++head) {
    const auto place = [&](std::int64_t rows, std::int64_t t, std::int64_t j) {
      return static_cast<std::size_t>((head / heads * rows + t) * row + head % heads * width + j);
    };
    const auto kept = [&](std::int64_t t, std::int64_t n, float x) {
      return mask.empty() ? x : mask[static_cast<std::size_t>((head * queries + t) * keys + n)] != 0 ? x * factor : 0;
    };
    const auto dot = [&](const Floats& a, std::size_t at_a, const Floats& b, std::size_t at_b) {
      return plain::chain_dot(width, a.data() + at_a, 1, b.data() + at_b, 1);
    };
    std::vector<Floats> z, dropped;  // of each query, by the key
    for (std::int64_t t = 0; t < queries; ++t) {
      const std::int64_t seen = offset + t + 1;
      Floats e, ones(static_cast<std::size_t>(seen), 1);
      for (std::int64_t n = 0; n < seen; ++n) e.push_back(dot(q, place(queries, t, 0), k, place(keys, n, 0)) * scale);
      const float most = e[plain::argmax(e)];
      for (float& value : e) value = numerics::exp(value - most);
      const float sum = plain::chain(e);
      for (std::int64_t j = 0; j < width; ++j)
        all.output[place(queries, t, j)] =
            anchored_chain(
                0, seen, [&](std::int64_t n) { return kept(t, n, e[static_cast<std::size_t>(n)]); },
                [&](std::int64_t n) { return v[place(keys, n, j)]; }) /
            sum;
      const float delta = dot(upstream, place(queries, t, 0), all.output, place(queries, t, 0));
      z.emplace_back();
      dropped.emplace_back();
      for (std::int64_t n = 0; n < seen; ++n) {
        const float p = e[static_cast<std::size_t>(n)] / sum,
                    by_weight = kept(t, n, dot(upstream, place(queries, t, 0), v, place(keys, n, 0)));
        z.back().push_back(p * (by_weight - delta));
        dropped.back().push_back(kept(t, n, p));
      }
      for (std::int64_t j = 0; j < width; ++j)
        all.by_q[place(queries, t, j)] =
            scale * anchored_chain(
                        0, seen, [&](std::int64_t n) { return z.back()[static_cast<std::size_t>(n)]; },
                        [&](std::int64_t n) { return k[place(keys, n, j)]; });
    }
    for (std::int64_t n = 0; n < keys; ++n)
      for (std::int64_t j = 0; j < width; ++j) {
        const auto over_queries = [&](const std::vector<Floats>& weights, const Floats& rows) {
          return anchored_chain(
              std::max(n, offset), keys,
              [&](std::int64_t t) {
                return weights[static_cast<std::size_t>(t - offset)][static_cast<std::size_t>(n)];
              },
              [&](std::int64_t t) { return rows[place(queries, t - offset, j)]; });
        };
        all.by_k[place(keys, n, j)] = scale * over_queries(z, q);
        all.by_v[place(keys, n, j)] = over_queries(dropped, upstream);
      }
  }
  return all;
}

/// Every fifth and seventh weight is dropped.
std::vector<std::uint8_t> weights_kept(std::int64_t size) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t i = 0; i < size; ++i) mask.push_back(i % 5 != 2 && i % 7 != 3);
  return mask;
}

struct AttentionCase {
  std::int64_t samples, queries, keys, heads, width;
};

Variable attention_of(const std::vector<Variable>& in) {
  return attention(in[0], in[1], in[2], Tensor(), {.heads = 2});
}

}  // namespace

CONTRACT(NUM_9_both_forms_of_attention_are_the_stated_expressions_in_every_build) {
  std::vector<AttentionCase> cases{{2, 7, 7, 2, 3}, {1, 1, 1, 1, 1}, {1, 33, 33, 2, 17}, {2, 5, 40, 2, 16}};
  if (!(device == simulated))
    for (const AttentionCase& larger : {AttentionCase{2, 64, 64, 4, 32},
                                        {1, 1, 600, 1, 8},
                                        {1, 530, 530, 1, 20},
                                        {1, 40, 1100, 1, 5},
                                        {1, 9, 9, 1, 520}})
      cases.push_back(larger);
  else
    cases.push_back({1, 2, 514, 1, 2});
  for (const auto& [samples, queries, keys, heads, width] : cases)
    for (const bool masked : {false, true}) {
      const Shape of_queries{samples, queries, heads * width}, of_keys{samples, keys, heads * width},
          of_weights{samples, heads, queries, keys};
      const Tensor q = drawn(of_queries, 1, -2, 2, device), k = drawn(of_keys, 2, -2, 2, device),
                   v = drawn(of_keys, 3, -1, 1, device), u = drawn(of_queries, 4, -1, 1, device);
      std::vector<std::uint8_t> kept;
      if (masked) kept = weights_kept(of_weights.size());
      const Tensor mask = masked ? Tensor::from(kept, of_weights, device) : Tensor();
      AttentionOptions options{.heads = heads, .p = masked ? 0.3 : 0};
      const Attended expected = attended(q, k, v, kept, options, u);
      const std::string what = "attention of " + to_string(of_queries) + " over " + std::to_string(keys) + " keys" +
                               (masked ? " with a mask" : "");
      in_every_build(device, what, [&](const std::string& where) {
        for (const bool materialised : {false, true}) {
          options.materialised = materialised;
          const Variable leaves[] = {Variable::leaf(q), Variable::leaf(k), Variable::leaf(v)};
          const Variable y = attention(leaves[0], leaves[1], leaves[2], mask, options);
          y.backward(u);
          const std::string form = where + (materialised ? ", materialised" : ", flash");
          check_same_bits(Tensor::from(expected.output, of_queries), y.value(), form);
          check_same_bits(Tensor::from(expected.by_q, of_queries), leaves[0].gradient(), "gradient by q, " + form);
          check_same_bits(Tensor::from(expected.by_k, of_keys), leaves[1].gradient(), "gradient by k, " + form);
          check_same_bits(Tensor::from(expected.by_v, of_keys), leaves[2].gradient(), "gradient by v, " + form);
        }
      });
    }
}

CONTRACT(NUM_9_queries_one_at_a_time_have_the_bits_of_all_at_once) {
  const Tensor q = drawn({2, 35, 6}, 1, -2, 2, device), k = drawn({2, 35, 6}, 2, -2, 2, device),
               v = drawn({2, 35, 6}, 3, device);
  const Tensor all = attention_of({q, k, v}).value();
  for (std::int64_t t = 0; t < 35; ++t) {
    const Tensor one = attention_of({q.slice(1, t, t + 1), k.slice(1, 0, t + 1), v.slice(1, 0, t + 1)}).value();
    check_same_bits(all.slice(1, t, t + 1), one, "query " + std::to_string(t));
  }
}

CONTRACT(NUM_9_later_keys_and_what_they_hold_change_nothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tensor q = drawn({1, 40, 6}, 1, -2, 2, device), k = drawn({1, 40, 6}, 2, -2, 2, device),
               v = drawn({1, 40, 6}, 3, device);
  const Tensor before = attention_of({q, k, v}).value();
  for (std::int64_t t : {1, 31, 32, 39}) {
    Floats keys = floats_of(k), values = floats_of(v);
    for (std::size_t i = static_cast<std::size_t>(t) * 6; i < keys.size(); ++i) {
      keys[i] = i % 2 == 0 ? nan : infinity;
      values[i] = i % 2 == 0 ? -infinity : nan;
    }
    const Tensor y =
        attention_of({q, Tensor::from(keys, k.shape(), device), Tensor::from(values, v.shape(), device)}).value();
    check_same_bits(before.slice(1, 0, t), y.slice(1, 0, t), "before position " + std::to_string(t));
    const auto at = y.slice(1, t, t + 1).read<float>();
    BOOST_TEST(at[0] != at[0], "position " << t << " sees a NaN");
  }
}

CONTRACT(NUM_3_a_row_of_attention_does_not_depend_on_the_batch) {
  const Tensor q = drawn({3, 9, 6}, 1, device), k = drawn({3, 9, 6}, 2, device), v = drawn({3, 9, 6}, 3, device);
  const Tensor all = attention_of({q, k, v}).value();
  for (std::int64_t row = 0; row < 3; ++row)
    check_same_bits(
        all.slice(0, row, row + 1),
        attention_of({q.slice(0, row, row + 1), k.slice(0, row, row + 1), v.slice(0, row, row + 1)}).value(),
        "row " + std::to_string(row));
}

CONTRACT(CHECK_1_attention_matches_the_oracle_at_awkward_sizes) {
  for (std::int64_t size : {1, 2, 31, 33})
    check_operation(device, "attention", attention_of,
                    {drawn({2, size, 6}, 1), drawn({2, size, 6}, 2), drawn({2, size, 6}, 3)}, 32);
  check_operation(device, "attention of later queries", attention_of,
                  {drawn({1, 3, 10}, 1), drawn({1, 12, 10}, 2), drawn({1, 12, 10}, 3)}, 32);
  const Tensor mask = Tensor::from(weights_kept(2 * 2 * 9 * 9), {2, 2, 9, 9}, device);
  check_operation(
      device, "attention with a mask",
      [&](const auto& in) {
        return attention(in[0], in[1], in[2], mask.to(in[0].device()), {.heads = 2, .p = 0.3, .materialised = true});
      },
      {drawn({2, 9, 6}, 1), drawn({2, 9, 6}, 2), drawn({2, 9, 6}, 3)}, 32);
}

CONTRACT(GRAPH_14_a_NaN_in_a_query_makes_its_position_NaN_and_no_other) {
  Floats q = floats_of(drawn({1, 4, 2}, 1));
  q[5] = std::numeric_limits<float>::quiet_NaN();
  const auto y = attention(Tensor::from(q, {1, 4, 2}, device), drawn({1, 4, 2}, 2, device), drawn({1, 4, 2}, 3, device),
                           Tensor(), {.heads = 1})
                     .value()
                     .read<float>();
  for (std::int64_t i = 0; i < 8; ++i) BOOST_TEST((y[i] != y[i]) == (i / 2 == 2), "element " << i);
}

CONTRACT(LAYER_3_flash_attention_keeps_no_square_of_the_length) {
  const auto bytes_kept = [&](bool materialised) {
    const Tensor x = drawn({1, 64, 4}, 1, device);
    const auto result = kernels::attention(x, x, x, Tensor(), {.heads = 1, .materialised = materialised});
    std::int64_t elements = 0;
    for (const Tensor& part : {result.output, result.most, result.sum, result.exponentials})
      elements += part.defined() ? part.size() : 0;
    return elements;
  };
  BOOST_TEST(bytes_kept(false) == 64 * 4 + 2 * 64);
  BOOST_TEST(bytes_kept(true) == 64 * 4 + 2 * 64 + 64 * 64);
}

CONTRACT(LAYER_3_attention_refuses_other_shapes) {
  const auto refused = [&](const Shape& q, const Shape& k, const Shape& v, std::int64_t heads,
                           const std::string& found) {
    check_refused(
        [&] { attention(drawn(q, 1, device), drawn(k, 2, device), drawn(v, 3, device), Tensor(), {.heads = heads}); },
        "LAYER-3",
        "attention: expected q [B, Tq, C] and k, v [B, Tk, C] with Tk >= Tq >= 1 and " + std::to_string(heads) +
            " heads that divide C, found " + found);
  };
  refused({3, 4}, {3, 4}, {3, 4}, 1, "[3, 4], [3, 4] and [3, 4]");
  refused({1, 3, 4}, {1, 3, 4}, {1, 3, 4}, 3, "[1, 3, 4], [1, 3, 4] and [1, 3, 4]");
  refused({1, 3, 4}, {1, 2, 4}, {1, 2, 4}, 1, "[1, 3, 4], [1, 2, 4] and [1, 2, 4]");
  refused({1, 3, 4}, {2, 3, 4}, {2, 3, 4}, 1, "[1, 3, 4], [2, 3, 4] and [2, 3, 4]");
  refused({1, 3, 4}, {1, 3, 4}, {1, 4, 4}, 1, "[1, 3, 4], [1, 3, 4] and [1, 4, 4]");
  refused({1, 0, 4}, {1, 3, 4}, {1, 3, 4}, 1, "[1, 0, 4], [1, 3, 4] and [1, 3, 4]");
  const Tensor x = drawn({1, 3, 4}, 1, device);
  check_refused([&] { attention(x, x, x, Tensor(), {.heads = 0}); }, "LAYER-3", "0 heads");
  check_refused([&] { attention(x, x, x, Tensor(), {.p = 1}); }, "MODE-3", "p in [0, 1)");
  check_refused(
      [&] {
        attention(x, x, x, Tensor::from(weights_kept(9), {1, 3, 3}, device), {});
      },
      "LAYER-3", "attention: expected a mask [1, 1, 3, 3], found [1, 3, 3]");
  check_refused([&] { attention(x, x, x, Tensor::zeros({1, 1, 3, 3}, device), {}); }, "ACC-4", "uint8");
  check_refused([&] { attention(x, x.to(reference_device), x, Tensor(), {}); }, "GRAPH-13", "reference");
}
