// Layer normalisation row by row, and the gradient by scale column by column.
#include "kernels/layer_norm.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/rows.hpp"
#include "numerics/rsqrt.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

/// n = (x − mean)·reciprocal of `rows` neighbouring rows, upstream·n added to the sums of `width` columns, which stay
/// in registers meanwhile.
template <int rows>
ASSAY_INLINE void add_rows(const float* x, const float* upstream, const float* mean, const float* reciprocal,
                           std::int64_t apart, std::int64_t width, float* sums) {
  for_vectors(width, [=](std::int64_t i, auto... mask) {
    Vector sum = load(sums + i, mask...);
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      const Vector centred = subtract(load(x + row * apart + i, mask...), broadcast(mean[row]));
      sum = fma(load(upstream + row * apart + i, mask...), multiply(centred, broadcast(reciprocal[row])), sum);
    }
    store(sums + i, sum, mask...);
  });
}

}  // namespace

void layer_norm(View<const float> x, View<const float> scale, View<const float> bias, double epsilon,
                View<float> statistics, View<float> y) {
  const std::int64_t length = scale.extent[0], count = statistics.extent[1];
  const auto elements = static_cast<float>(length), added = static_cast<float>(epsilon);
  for_row_groups(count, length, [=](std::int64_t first, std::int64_t rows, float* centred) {
    float *mean = statistics.data + first, *reciprocal = mean + count;
    const float* from = x.data + first * length;
    for (std::int64_t row = 0; row < rows; ++row) mean[row] = row_sum(from + row * length, length) / elements;
    for (std::int64_t row = 0; row < rows; ++row)
      for_vectors(length, [=, m = broadcast(mean[row])](std::int64_t i, auto... mask) {
        store(centred + row * length + i, subtract(load(from + row * length + i, mask...), m), mask...);
      });
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* d = centred + row * length;
      reciprocal[row] = row_dot(d, d, length) / elements + added;
    }
    for (std::int64_t row = 0; row < rows; ++row) reciprocal[row] = numerics::rsqrt(reciprocal[row]);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* d = centred + row * length;
      float* to = y.data + (first + row) * length;
      for_vectors(length, [=, r = broadcast(reciprocal[row])](std::int64_t i, auto... mask) {
        const Vector n = multiply(load(d + i, mask...), r);
        store(to + i, fma(n, load(scale.data + i, mask...), load(bias.data + i, mask...)), mask...);
      });
    }
  });
}

void layer_norm_gradient(View<const float> x, View<const float> statistics, View<const float> scale,
                         View<const float> upstream, View<float> gradient) {
  const std::int64_t length = scale.extent[0], count = statistics.extent[1];
  const auto elements = static_cast<float>(length);
  // Of each row g and n stand in the scratch, side by side.
  for_row_groups(count, 2 * length, [=](std::int64_t first, std::int64_t rows, float* scratch) {
    const float *mean = statistics.data + first, *reciprocal = mean + count;
    float mean_g[group_rows], mean_gn[group_rows];
    for (std::int64_t row = 0; row < rows; ++row) {
      float *g = scratch + 2 * row * length, *n = g + length;
      const float *from = x.data + (first + row) * length, *up = upstream.data + (first + row) * length;
      for_vectors(length, [=, m = broadcast(mean[row]), r = broadcast(reciprocal[row])](std::int64_t i, auto... mask) {
        store(g + i, multiply(load(up + i, mask...), load(scale.data + i, mask...)), mask...);
        store(n + i, multiply(subtract(load(from + i, mask...), m), r), mask...);
      });
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *g = scratch + 2 * row * length, *n = g + length;
      mean_g[row] = row_sum(g, length) / elements;
      mean_gn[row] = row_dot(g, n, length) / elements;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *g = scratch + 2 * row * length, *n = g + length;
      float* to = gradient.data + (first + row) * length;
      for_vectors(length, [=, r = broadcast(reciprocal[row]), a = broadcast(mean_g[row]), b = broadcast(mean_gn[row])](
                              std::int64_t i, auto... mask) {
        const Vector part = subtract(load(g + i, mask...), a);
        store(to + i, multiply(r, subtract(part, multiply(load(n + i, mask...), b))), mask...);
      });
    }
  });
}

void layer_norm_scale_gradient(View<const float> x, View<const float> statistics, View<const float> upstream,
                               View<float> gradient) {
  const std::int64_t length = gradient.extent[0], count = statistics.extent[1];
  const float *mean = statistics.data, *reciprocal = mean + count;
#ifdef ASSAY_HYPOTHESIS
  for (std::int64_t column = 0; column < length; ++column) {
    const auto at = [=](std::size_t row) { return static_cast<std::int64_t>(row) * length + column; };
    gradient.data[column] = numerics::chain_dot(
        0, static_cast<std::size_t>(count), [=](std::size_t row) { return upstream.data[at(row)]; },
        [=](std::size_t row) { return (x.data[at(row)] - mean[row]) * reciprocal[row]; });
  }
#else
  constexpr std::int64_t most_columns = 1024;
  constexpr int rows_at_once = 4;
  constexpr auto chain_block = static_cast<std::int64_t>(numerics::chain_block);
  parallel_for(length, elements_per_task / (count + 1) + 1, [=](std::int64_t from, std::int64_t to) {
    float part[most_columns];
    for (std::int64_t column = from; column < to; column += most_columns) {
      const std::int64_t width = std::min(most_columns, to - column);
      float* const total = gradient.data + column;
      std::fill_n(total, width, 0.0f);
      for (std::int64_t block = 0; block < count; block += chain_block) {
        const std::int64_t end = std::min(block + chain_block, count);
        float* const sums = block == 0 ? total : part;
        std::fill_n(sums, width, 0.0f);
        std::int64_t row = block;
        const auto add = [&](auto rows) {
          add_rows<rows>(x.data + row * length + column, upstream.data + row * length + column, mean + row,
                         reciprocal + row, length, width, sums);
          row += rows;
        };
        while (row + rows_at_once <= end) add(std::integral_constant<int, rows_at_once>());
        while (row < end) add(std::integral_constant<int, 1>());
        for (std::int64_t i = 0; block != 0 && i < width; ++i) total[i] = total[i] + part[i];
      }
    }
  });
#endif
}

}  // namespace assay::kernels::ASSAY_ISA
