// Sums over axes in lane or chain order.
#include "kernels/sum.hpp"

#include <algorithm>

#include "kernels/cpu/lanes.hpp"
#include "kernels/walk.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr auto chain_block = static_cast<std::int64_t>(numerics::chain_block);
constexpr auto lane_chunk = static_cast<std::int64_t>(numerics::lane_chunk);
constexpr int lane_count = static_cast<int>(numerics::lane_count);

/// `width` rows side by side: row c begins at data[c·apart] and its elements lie as `along` says.
struct Columns {
  const float* data;
  std::int64_t apart, width;
  Walk<1> along;
};

/// Elements begin … end − 1 of each row, element k added to lane k mod `lanes`, which start at +0; then N3's tree.
/// `begin` is a multiple of `lanes`, `sums` has `lanes` lines of `width`, and the first of them is the result.
template <int lanes>
void sum_block(const Columns& x, std::int64_t begin, std::int64_t end, float* __restrict sums) {
  constexpr std::int64_t rows_at_once = 8;  // of a lane, added to sums that are in registers
  const std::int64_t width = x.width, apart = x.apart, step = x.along.inner_stride()[0] * lanes;
  std::fill(sums, sums + lanes * width, 0.0f);
  x.along.runs(begin, end, [&](std::int64_t first, std::int64_t count, const std::int64_t* offset) {
    for (std::int64_t k = 0; k < count; k += lanes * rows_at_once)
      for (std::int64_t l = k; l < k + lanes && l < count; ++l) {
        const std::int64_t rows = std::min(rows_at_once, (count - l - 1) / lanes + 1);
        const float* from = x.data + offset[0] + l * x.along.inner_stride()[0];
        float* to = sums + (first + l) % lanes * width;
        if (apart == 1)
          for_vectors(width, [&](std::int64_t i, auto... mask) {
            Vector sum = load(to + i, mask...);
            for (std::int64_t row = 0; row < rows; ++row) sum = add(sum, load(from + row * step + i, mask...));
            store(to + i, sum, mask...);
          });
        else
          for (std::int64_t i = 0; i < width; ++i) {
            float sum = to[i];
            for (std::int64_t row = 0; row < rows; ++row) sum = sum + from[row * step + i * apart];
            to[i] = sum;
          }
      }
  });
  for (std::int64_t half = lanes / 2 * width; half >= width; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
}

struct ChainOrder {
  static constexpr std::int64_t most_columns = 1024;
  static void sum(const Columns& x, float* y) {
    float part[most_columns];
    std::fill(y, y + x.width, 0.0f);
    for (std::int64_t begin = 0; begin < x.along.size; begin += chain_block) {
      sum_block<1>(x, begin, std::min(begin + chain_block, x.along.size), begin == 0 ? y : part);
      for (std::int64_t i = 0; begin != 0 && i < x.width; ++i) y[i] = y[i] + part[i];
    }
  }
};

struct LaneOrder {
  static constexpr std::int64_t most_columns = 128;
  static void sum(Columns x, float* y) {
    float lane[lane_count * most_columns];
    auto* const sums = static_cast<float*>(
        thread_scratch(static_cast<std::size_t>((x.along.size / lane_chunk + 1) * x.width) * sizeof(float)));
    while (x.along.size > lane_chunk) {
      // Chunk sums take the place of what they were made from, as soon as it is no longer needed.
      const std::int64_t chunks = (x.along.size - 1) / lane_chunk + 1;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        sum_block<lane_count>(x, chunk * lane_chunk, std::min((chunk + 1) * lane_chunk, x.along.size), lane);
        std::copy(lane, lane + x.width, sums + chunk * x.width);
      }
      x = {sums, 1, x.width, Walk<1>{0, chunks, {chunks}, {{x.width}}}};
    }
    sum_block<lane_count>(x, 0, x.along.size, lane);
    std::copy(lane, lane + x.width, y);
  }
};

template <class Order>
void sum_columns(const View<const float>& x, const Walk<1>& outputs, const Walk<1>& along, float* y) {
  parallel_for(outputs.size, elements_per_task / (along.size + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    outputs.runs(begin, end, [&](std::int64_t first, std::int64_t count, const std::int64_t* offset) {
      const std::int64_t apart = outputs.inner_stride()[0];
      for (std::int64_t i = 0; i < count; i += Order::most_columns)
        Order::sum({x.data + offset[0] + i * apart, apart, std::min(Order::most_columns, count - i), along},
                   y + first + i);
    });
  });
}

/// y = sum_row(first element) of each row.
template <class SumRow>
void sum_rows(const View<const float>& x, const Walk<1>& outputs, std::int64_t length, float* y, SumRow sum_row) {
  parallel_for(outputs.size, elements_per_task / (length + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    outputs.runs(begin, end, [=](std::int64_t first, std::int64_t count, const std::int64_t* offset) {
      const std::int64_t apart = outputs.inner_stride()[0];
      const float* row = x.data + offset[0];
      for (std::int64_t i = 0; i < count; ++i) y[first + i] = sum_row(row + i * apart);
    });
  });
}

/// The lane order of a row whose elements do not lie side by side: they are copied, chunk by chunk.
float sum_scattered(const float* row, const Walk<1>& along) {
  return parallel_lane_chunks(along.size, [=](std::size_t from, std::size_t size) {
    const auto begin = static_cast<std::int64_t>(from), number = static_cast<std::int64_t>(size);
    const std::int64_t step = along.inner_stride()[0];
    float copied[lane_chunk];
    along.runs(begin, begin + number, [&](std::int64_t first, std::int64_t count, const std::int64_t* offset) {
      for (std::int64_t i = 0; i < count; ++i) copied[first - begin + i] = row[offset[0] + i * step];
    });
    return chunk_sum(copied, number);
  });
}

}  // namespace

void sum(View<const float> x, int kept, bool lanes, View<float> y) {
  const Walk<1> outputs = walk_of(0, kept, x), along = walk_of(kept, x.rank, x);
  if (!lanes)
    sum_columns<ChainOrder>(x, outputs, along, y.data);
  else if (outputs.extent[outputs.last] > 1 && outputs.inner_stride()[0] < along.inner_stride()[0])
    sum_columns<LaneOrder>(x, outputs, along, y.data);
  else if (along.last == 0 && along.inner_stride()[0] == 1)
    sum_rows(x, outputs, along.size, y.data, [length = along.size](const float* row) {
      return parallel_lane_chunks(length, [row](std::size_t begin, std::size_t count) {
        return chunk_sum(row + begin, static_cast<std::int64_t>(count));
      });
    });
  else
    sum_rows(x, outputs, along.size, y.data, [along](const float* row) { return sum_scattered(row, along); });
}

}  // namespace assay::kernels::ASSAY_ISA
