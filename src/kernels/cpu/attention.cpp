// Attention, a block of 32 queries of one head at a time. Scores lie key by key, the queries of a key side by side: so
// maxima, exponentials and their sums are vectors over queries, and all products are tiles of chains.
#include "kernels/attention.hpp"

#include "device/cpu/scratch.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/cpu/matmul_tile.hpp"
#include "numerics/exp.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr auto key_block = static_cast<std::int64_t>(numerics::chain_block);
constexpr std::int64_t side_by_side = 32;  // queries; a block of them lies in one block of a chain
static_assert(key_block % side_by_side == 0 && side_by_side % vector_width == 0);

/// Rows of one head of one sample, [T, d] of a tensor [B, T, H·d].
template <class T>
View<T> head_of(const View<T>& x, std::int64_t heads, std::int64_t index) {
  const std::int64_t width = x.extent[2] / heads;
  return {x.data + index / heads * x.stride[0] + index % heads * width, 2, {x.extent[1], width}, {x.stride[1], 1}};
}

/// Queries first … first + count − 1, by the numbers of the keys: query t sees keys 0 … t.
struct Queries {
  std::int64_t first, count;
  std::int64_t keys() const { return first + count; }
  /// Their rows of a matrix whose row 0 belongs to key `offset`.
  template <class T>
  View<T> of(View<T> rows, std::int64_t offset) const {
    rows.data += (first - offset) * rows.stride[0];
    rows.extent[0] = count;
    return rows;
  }
};

/// The block that query `t` is in, of queries from `offset` on and below `end`.
Queries block_of(std::int64_t t, std::int64_t offset, std::int64_t end) {
  const std::int64_t begin = t / side_by_side * side_by_side, first = begin < offset ? offset : begin;
  return {first, (begin + side_by_side < end ? begin + side_by_side : end) - first};
}

std::int64_t packed_queries(std::int64_t width) {
  return packed_size(width < key_block ? width : key_block, side_by_side);
}

/// Columns [begin, begin + depth) of up to 32 rows as a packed right operand.
void pack_rows(const View<const float>& rows, std::int64_t begin, std::int64_t depth, float* packed) {
  pack_right({rows.data + begin, 2, {depth, rows.extent[0]}, {1, rows.stride[0]}}, packed);
}

/// to[k][t] = Σ left[k][j]·right[t][j] in chain order, for the first `keys` rows of the left and all of the right.
void products(const View<const float>& left, std::int64_t keys, const View<const float>& right, float* packed,
              float* to) {
  const std::int64_t width = right.extent[1], count = right.extent[0], tiles = (keys + tile_rows - 1) / tile_rows;
  for (std::int64_t j = 0; j < width; j += key_block) {
    const std::int64_t depth = width - j < key_block ? width - j : key_block;
    pack_rows(right, j, depth, packed);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = first_row(t, keys, tiles), rows = first_row(t + 1, keys, tiles) - row;
      for (std::int64_t column = 0; column < count; column += tile_columns)
        multiply_tile(depth, true, {left.data + row * left.stride[0] + j, left.stride[0]},
                      {packed + column * depth, tile_columns}, to + row * side_by_side + column, side_by_side,
                      j == 0 ? Into::store : Into::add, rows,
                      count - column < tile_columns ? count - column : tile_columns);
    }
  }
}

/// to[t] = Σ weights[k][t]·right[k] over k = 0 … t in chain order, for each query of the block. Of the last block of
/// the chain, a tile has the keys that all its rows see, then each row goes on alone.
void chains_over_keys(const Queries& queries, const float* weights, const View<const float>& right,
                      const View<float>& to) {
  const std::int64_t width = right.extent[1], tiles = (queries.count + tile_rows - 1) / tile_rows;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t row = first_row(tile, queries.count, tiles),
                       rows = first_row(tile + 1, queries.count, tiles) - row;
    const std::int64_t seen = queries.first + row + 1, last = (seen - 1) / key_block * key_block;
    for (std::int64_t column = 0; column < width; column += tile_columns) {
      const std::int64_t columns = width - column < tile_columns ? width - column : tile_columns;
      auto block = [&](std::int64_t k, std::int64_t depth, float* c, std::int64_t step, Into into) {
        multiply_tile(depth, false, {weights + k * side_by_side + row, side_by_side},
                      {right.data + k * right.stride[0] + column, right.stride[0]}, c, step, into, rows, columns);
      };
      float* const c = to.data + row * to.stride[0] + column;
      for (std::int64_t k = 0; k < last; k += key_block)
        block(k, key_block, c, to.stride[0], k == 0 ? Into::store : Into::add);
      float part[tile_rows * tile_columns];
      block(last, seen - last, part, tile_columns, Into::store);
      for (std::int64_t i = 0; i < rows; ++i)
        for_vectors(columns, [&](std::int64_t j, auto... mask) {
          Vector sum = load(part + i * tile_columns + j, mask...);
          for (std::int64_t k = seen; k < seen + i; ++k)
            sum = fma(broadcast(weights[k * side_by_side + row + i]),
                      load(right.data + k * right.stride[0] + column + j, mask...), sum);
          float* const at = c + i * to.stride[0] + j;
          store(at, last == 0 ? sum : add(load(at, mask...), sum), mask...);
        });
    }
  }
}

/// parts[k] goes on with weights[k][t]·right[t] over the queries t >= k of the block, for every key that one sees.
void chains_over_queries(const Queries& queries, const float* weights, const View<const float>& right, float* parts) {
  const std::int64_t width = right.extent[1];
  for (std::int64_t key = 0, rows; key < queries.keys(); key += rows) {
    const std::int64_t end = key < queries.first ? queries.first : queries.keys();
    rows = end - key < tile_rows ? end - key : tile_rows;
    // All of the tile's keys are seen by queries from `from` on; before, each by those from its own on.
    const std::int64_t from = key < queries.first ? 0 : key + rows - queries.first;
    for (std::int64_t i = 0; i < rows && from > 0; ++i)
      for_vectors(width, [&](std::int64_t j, auto... mask) {
        float* const at = parts + (key + i) * width + j;
        Vector sum = load(at, mask...);
        for (std::int64_t t = key + i - queries.first; t < from; ++t)
          sum = fma(broadcast(weights[(key + i) * side_by_side + t]),
                    load(right.data + t * right.stride[0] + j, mask...), sum);
        store(at, sum, mask...);
      });
    for (std::int64_t column = 0; column < width && from < queries.count; column += tile_columns)
      multiply_tile(queries.count - from, true, {weights + key * side_by_side + from, side_by_side},
                    {right.data + from * right.stride[0] + column, right.stride[0]}, parts + key * width + column,
                    width, Into::extend, rows, width - column < tile_columns ? width - column : tile_columns);
  }
}

/// Products to scores ·σ, −∞ where the query does not see the key; `most`, when given, becomes their maxima.
void scores(const Queries& queries, float scale, float* x, float* most = nullptr) {
  constexpr float nothing = -__builtin_inff();
  for_vectors(queries.count, [&](std::int64_t t, auto... mask) {
    Vector best = broadcast(nothing);
    for (std::int64_t k = 0; k < queries.keys(); ++k) {
      float* const at = x + k * side_by_side + t;
      Vector score = multiply(load(at, mask...), broadcast(scale));
      const std::int64_t unseeing = k - queries.first - t;
      if (unseeing > 0)
        score = select(first_lanes(unseeing < vector_width ? unseeing : vector_width), broadcast(nothing), score);
      best = maximum(best, score);
      store(at, score);
    }
    if (most != nullptr) store(most + t, best, mask...);
  });
}

/// exp(x − most) of scores.
void exponentials_of(const Queries& queries, const float* most, float* x) {
  for_vectors(queries.count, [&](std::int64_t t, auto... mask) {
    for (std::int64_t k = 0; k < queries.keys(); ++k)
      store(x + k * side_by_side + t, subtract(load(x + k * side_by_side + t), load(most + t, mask...)));
  });
  for (std::int64_t k = 0; k < queries.keys(); ++k) {
    float* const row = x + k * side_by_side;
    for (std::int64_t t = 0; t < side_by_side; ++t) row[t] = numerics::exp(row[t]);
  }
}

/// The sum of each query's exponentials in chain order; those of keys that it does not see are +0 and change none.
void sums_of(const Queries& queries, const float* x, float* sum) {
  for_vectors(queries.count, [&](std::int64_t t, auto... mask) {
    Vector total = zero();
    for (std::int64_t k = 0; k < queries.keys();) {
      Vector part = zero();
      const std::int64_t first = k, end = k + key_block < queries.keys() ? k + key_block : queries.keys();
      for (; k < end; ++k) part = add(part, load(x + k * side_by_side + t));
      total = first == 0 ? part : add(total, part);
    }
    store(sum + t, total, mask...);
  });
}

/// Whether weight [t][k] is kept, for the queries of a block; no data: all are.
struct Kept {
  const std::uint8_t* data;
  std::int64_t keys;
  float factor;

  Kept(const View<const std::uint8_t>& mask, std::int64_t queries, std::int64_t keys_, float factor_, std::int64_t head,
       std::int64_t first)
      : data(mask.data == nullptr ? nullptr : mask.data + (head * queries + first) * keys_),
        keys(keys_),
        factor(factor_) {}
  /// x·factor where it is kept, else +0.
  void select(const Queries& block, float* x) const {
    if (data == nullptr) return;
    for (std::int64_t k = 0; k < block.keys(); ++k)
      for (std::int64_t t = 0; t < block.count; ++t) {
        float& value = x[k * side_by_side + t];
        value = data[t * keys + k] != 0 ? value * factor : 0;
      }
  }
};

/// Column t − first of the block's queries in `saved`, [Tk, Tq], to or from the rows of `x`.
template <class From, class To>
void copy_rows(const Queries& block, From* from, std::int64_t from_step, To* to, std::int64_t to_step) {
  for (std::int64_t k = 0; k < block.keys(); ++k)
    for_vectors(block.count, [&](std::int64_t t, auto... mask) {
      store(to + k * to_step + t, load(from + k * from_step + t, mask...), mask...);
    });
}

/// At least so many tasks for one thread that its work is worth waking it.
std::int64_t tasks_worth_a_thread(std::int64_t products) { return 1 + (std::int64_t{1} << 18) / (products + 1); }

/// delta[t] = Σ upstream[t][j]·output[t][j] in chain order.
void row_products(const View<const float>& upstream, const View<const float>& output, float* packed, float* delta) {
  const std::int64_t width = upstream.extent[1], count = upstream.extent[0];
  float* const other = packed + packed_queries(width);
  for (std::int64_t j = 0; j < width; j += key_block) {
    const std::int64_t depth = width - j < key_block ? width - j : key_block;
    pack_rows(upstream, j, depth, packed);
    pack_rows(output, j, depth, other);
    for_vectors(count, [&](std::int64_t t, auto... mask) {
      const std::int64_t strip = t / tile_columns * tile_columns * depth + t % tile_columns;
      Vector sum = zero();
      for (std::int64_t i = 0; i < depth; ++i)
        sum =
            fma(load(packed + strip + i * tile_columns, mask...), load(other + strip + i * tile_columns, mask...), sum);
      store(delta + t, j == 0 ? sum : add(load(delta + t), sum));
    });
  }
}

}  // namespace

void attention(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
               AttentionFactors factors, View<float> output, View<float> most, View<float> sum,
               View<float> exponentials) {
  const std::int64_t count = q.extent[1], keys = k.extent[1], offset = keys - count,
                     width = q.extent[2] / factors.heads, heads = factors.heads;
  const std::int64_t first_block = offset / side_by_side, blocks = (keys - 1) / side_by_side + 1 - first_block;
  const float scale = factors.scale, kept = factors.kept;
  parallel_for(
      q.extent[0] * heads * blocks, tasks_worth_a_thread(side_by_side * keys * width),
      [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t floats = keys * side_by_side + packed_queries(width);
        float* const weights = static_cast<float*>(thread_scratch(static_cast<std::size_t>(floats) * sizeof(float)));
        float* const packed = weights + keys * side_by_side;
        for (; begin < end; ++begin) {
          const std::int64_t head = begin / blocks;
          const Queries block = block_of((first_block + begin % blocks) * side_by_side, offset, keys);
          const std::int64_t first = block.first - offset, row = head * count + first;
          products(head_of(k, heads, head), block.keys(), block.of(head_of(q, heads, head), offset), packed, weights);
          scores(block, scale, weights, most.data + row);
          exponentials_of(block, most.data + row, weights);
          sums_of(block, weights, sum.data + row);
          if (exponentials.data != nullptr)
            copy_rows(block, weights, side_by_side, exponentials.data + head * keys * count + first, count);
          Kept(mask, count, keys, kept, head, first).select(block, weights);
          const View<float> rows = block.of(head_of(output, heads, head), offset);
          chains_over_keys(block, weights, head_of(v, heads, head), rows);
          for (std::int64_t t = 0; t < block.count; ++t)
            for_vectors(width, [&, to = rows.data + t * rows.stride[0]](std::int64_t j, auto... lanes) {
              store(to + j, divide(load(to + j, lanes...), broadcast(sum.data[row + t])), lanes...);
            });
        }
      });
}

void attention_gradient(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
                        AttentionFactors factors, View<const float> output, View<const float> most,
                        View<const float> sum, View<const float> exponentials, View<const float> upstream,
                        View<float> q_gradient, View<float> k_gradient, View<float> v_gradient) {
  const std::int64_t count = q.extent[1], keys = k.extent[1], offset = keys - count,
                     width = q.extent[2] / factors.heads, heads = factors.heads;
  const float scale = factors.scale, kept = factors.kept;
  const std::int64_t rows_size = keys * side_by_side, parts_size = keys * width;
  parallel_for(
      q.extent[0] * heads, tasks_worth_a_thread(count * keys * width), [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t floats = 2 * (rows_size + parts_size + packed_queries(width)) + side_by_side;
        float* const weights = static_cast<float*>(thread_scratch(static_cast<std::size_t>(floats) * sizeof(float)));
        float *const by_score = weights + rows_size, *const k_parts = by_score + rows_size,
                     *const v_parts = k_parts + parts_size, *const delta = v_parts + parts_size,
                     *const packed = delta + side_by_side;
        for (std::int64_t head = begin; head < end; ++head) {
          const View<const float> query_rows = head_of(q, heads, head), key_rows = head_of(k, heads, head),
                                  value_rows = head_of(v, heads, head), output_rows = head_of(output, heads, head),
                                  upstream_rows = head_of(upstream, heads, head);
          // The parts of keys below `end` are the sums over the queries of one block of the chain, which ends here.
          auto finish_parts = [&](std::int64_t last_query) {
            for (const auto& [parts, gradient] : {std::pair(k_parts, head_of(k_gradient, heads, head)),
                                                  std::pair(v_parts, head_of(v_gradient, heads, head))})
              for (std::int64_t key = 0; key <= last_query; ++key)
                for_vectors(width, [&, part = parts + key * width, to = gradient.data + key * gradient.stride[0],
                                    first = (key < offset ? offset : key) / key_block == last_query / key_block](
                                       std::int64_t j, auto... lanes) {
                  const Vector value = load(part + j, lanes...);
                  store(to + j, first ? value : add(load(to + j, lanes...), value), lanes...);
                  store(part + j, zero(), lanes...);
                });
          };
          for (std::int64_t i = 0; i < 2 * parts_size; ++i) k_parts[i] = 0;
          for (std::int64_t t = offset; t < keys;) {
            const Queries block = block_of(t, offset, keys);
            if (t > offset && t % key_block == 0) finish_parts(t - 1);
            t = block.keys();
            const std::int64_t first = block.first - offset, row = head * count + first;
            const View<const float> queries = block.of(query_rows, offset), g = block.of(upstream_rows, offset);
            if (exponentials.data != nullptr) {
              copy_rows(block, exponentials.data + head * keys * count + first, count, weights, side_by_side);
            } else {
              products(key_rows, block.keys(), queries, packed, weights);
              scores(block, scale, weights);
              exponentials_of(block, most.data + row, weights);
            }
            products(value_rows, block.keys(), g, packed, by_score);
            const Kept selection(mask, count, keys, kept, head, first);
            selection.select(block, by_score);
            row_products(g, block.of(output_rows, offset), packed, delta);
            for_vectors(block.count, [&](std::int64_t column, auto... lanes) {
              const Vector d = load(delta + column), s = load(sum.data + row + column, lanes...);
              for (std::int64_t at = column; at < block.keys() * side_by_side; at += side_by_side) {
                const Vector p = divide(load(weights + at, lanes...), s);
                store(weights + at, p);
                store(by_score + at, multiply(p, subtract(load(by_score + at, lanes...), d)));
              }
            });
            selection.select(block, weights);
            const View<float> to = block.of(head_of(q_gradient, heads, head), offset);
            chains_over_keys(block, by_score, key_rows, to);
            for (std::int64_t i = 0; i < block.count; ++i)
              for (std::int64_t j = 0; j < width; ++j) to.data[i * to.stride[0] + j] *= scale;
            chains_over_queries(block, by_score, queries, k_parts);
            chains_over_queries(block, weights, g, v_parts);
          }
          finish_parts(keys - 1);
          const View<float> to = head_of(k_gradient, heads, head);
          for (std::int64_t key = 0; key < keys; ++key)
            for (std::int64_t j = 0; j < width; ++j) to.data[key * to.stride[0] + j] *= scale;
        }
      });
}

}  // namespace assay::kernels::ASSAY_ISA
