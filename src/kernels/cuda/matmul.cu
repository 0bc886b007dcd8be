// Matrix product in the order of N2: lanes of a block share a tile of each operand, and every lane keeps a square of
// outputs in registers, each of them one ascending fma chain a block of 512 of the depth.
#include "kernels/matmul.hpp"

#include "device/scratch.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/walk.hpp"
#include "numerics/order.hpp"

namespace assay::kernels {
namespace ASSAY_ISA {
namespace {

constexpr int block = static_cast<int>(numerics::chain_block);

// Floats side by side: on the device registers, on the host a vector, since GCC makes no good one of a plain array.
#ifdef __CUDACC__
#define ON_DEVICE(...) __VA_ARGS__
template <int size>
struct alignas(16) Row {
  float of[size];
  __device__ __forceinline__ float& operator[](int i) { return of[i]; }
  __device__ __forceinline__ float operator[](int i) const { return of[i]; }
};
#else
#define ON_DEVICE(...)
template <int size>
using Row [[gnu::vector_size(size * sizeof(float)), gnu::aligned(16)]] = float;
#endif
using Quad = Row<4>;

/// Sizes of a tile: `side_` rows of the left or columns of the right operand times `depth_`; of the outputs, a lane
/// owns `own_` rows times `own_` columns, side by side.
template <int side_, int depth_, int own_>
struct Tile {
  static constexpr int side = side_, depth = depth_, own = own_, lanes_across = side / own;
  static constexpr int lanes = lanes_across * lanes_across;
  static constexpr int quads = side * depth / 4 / lanes;  // of each operand, that a lane brings in
  static constexpr int per_block = block / depth;

  // In shared memory a tile lies depth by depth. Four floats after every 32 keep the eight lanes that read 32 bytes
  // each apart; `skew` after four depths does so for the lanes that write a column of four: 8 rows times 4 such
  // columns, or 4 times 8, fall on 32 banks. All quads stay aligned.
  static constexpr int pitch = side + side / 32 * 4;
  static constexpr int skew = (32 + 128 / depth - 4 * pitch % 32) % 32;
  static constexpr int floats = depth * pitch + depth / 4 * skew;
  ASSAY_INLINE static constexpr int place(int k, int row) { return k * pitch + k / 4 * skew + row + row / 32 * 4; }

  struct alignas(16) Stage {
    float left[floats], right[floats];
  };
};
using LargeTile = Tile<128, 16, 8>;
using SmallTile = Tile<32, 32, 4>;

/// One of the two operands: the left with its rows, the right with its columns as rows.
struct Side {
  std::int64_t row_stride, depth_stride;
  bool in_quads;  // four elements along the axis with stride 1 can be read in one piece at every fourth index
};

/// A product, how it is cut, and what happens to its finished sums. A part is a block of the depth, or all of it.
struct Job {
  std::int64_t rows, columns, depth;
  Side left, right;
  std::int64_t sums_stride, c_stride;  // between two rows
  std::int64_t part_stride;            // between the sums of two parts
  bool results_in_quads;
  bool relu, accumulate;
  int across, down, parts;  // tiles of a matrix, parts of a tile
  Walk<4> matrices;         // in a, b, sums and c
};

/// Where matrix `index` begins in one of the four. The loop is unrolled, so that arguments stay where they are.
__device__ __forceinline__ std::int64_t matrix_offset(const Walk<4>& matrices, unsigned index, int which) {
  std::int64_t offset = 0;
  UNROLL
  for (int axis = 3; axis >= 0; --axis) {
    if (axis > matrices.last) continue;
    const unsigned extent = static_cast<unsigned>(matrices.extent[axis]);
    offset += index % extent * matrices.stride[axis][which];
    index /= extent;
  }
  return offset;
}

/// The quads that a lane brings into a tile lie along the depth or along the rows, whichever axis has stride 1, so that
/// lanes side by side read side by side.
template <class Tile, bool along_depth>
struct Loader {
  static constexpr int in_line = (along_depth ? Tile::depth : Tile::side) / 4;
  static constexpr int next = Tile::lanes / in_line;  // lines from one quad of a lane to the next
  static_assert(Tile::lanes % in_line == 0);

  const float* data;  // of the first quad
  int rows;           // of the tile

  __device__ __forceinline__ static int row() {
    const int lane = static_cast<int>(threadIdx.x);
    return along_depth ? lane / in_line : lane % in_line * 4;
  }
  __device__ __forceinline__ static int k() {
    const int lane = static_cast<int>(threadIdx.x);
    return along_depth ? lane % in_line * 4 : lane / in_line;
  }

  __device__ __forceinline__ Loader(const float* tile, const Side& side, int rows_of_tile)
      : data(tile + row() * side.row_stride + k() * (along_depth ? 1 : side.depth_stride)), rows(rows_of_tile) {}

  /// This lane's quads of the next tile, which has `depth` depths.
  __device__ __forceinline__ void fetch(const Side& side, int depth, Quad (&held)[Tile::quads]) {
    const std::int64_t line = along_depth ? side.row_stride : side.depth_stride;
    if (side.in_quads && rows == Tile::side && depth == Tile::depth) {
      UNROLL
      for (int q = 0; q < Tile::quads; ++q) held[q] = *reinterpret_cast<const Quad*>(data + q * next * line);
    } else {
      const std::int64_t step = along_depth ? 1 : side.row_stride;
      const int lines = along_depth ? rows - row() : depth - k(), length = along_depth ? depth - k() : rows - row();
      UNROLL
      for (int q = 0; q < Tile::quads; ++q) {
        const float* from = data + q * next * line;
        const int count = q * next < lines ? length : 0;
        held[q] = Quad{};
        UNROLL
        for (int i = 0; i < 4; ++i)
          if (i < count) held[q][i] = from[i * step];
      }
    }
    data += Tile::depth * (along_depth ? 1 : side.depth_stride);
  }

  __device__ __forceinline__ static void put(const Quad (&held)[Tile::quads], float* tile) {
    tile += Tile::place(k(), row());
    UNROLL
    for (int q = 0; q < Tile::quads; ++q) {
      if constexpr (along_depth) {
        UNROLL
        for (int i = 0; i < 4; ++i) tile[Tile::place(i, q * next)] = held[q][i];
      } else {
        *reinterpret_cast<Quad*>(tile + Tile::place(q * next, 0)) = held[q];
      }
    }
  }
};

/// One fma for each output of a lane.
template <int own>
__device__ __forceinline__ void step(const float* left, const float* right, Row<own> (&sum)[own]) {
  const Row<own> b = *reinterpret_cast<const Row<own>*>(right);
  float a[own];
  UNROLL
  for (int i = 0; i < own; ++i) a[i] = reinterpret_cast<const Quad*>(left)[i / 4][i % 4];
  UNROLL
  for (int i = 0; i < own; ++i) {
    Row<own> after;
    UNROLL
    for (int j = 0; j < own; ++j) after[j] = numerics::fma(a[i], b[j], sum[i][j]);
    sum[i] = after;
  }
}

/// The depths of one half of a tile, as far as it has them: `count` in all.
template <class Tile, int half>
__device__ ON_DEVICE(__forceinline__) void add_half(const typename Tile::Stage& stage, int own_row, int own_column,
                                                    int count, Row<Tile::own> (&result)[Tile::own]) {
  constexpr int own = Tile::own, begin = half * Tile::depth / 2, end = begin + Tile::depth / 2;
  const float* left = stage.left + Tile::place(0, own_row);
  const float* right = stage.right + Tile::place(0, own_column);
  Row<own> sum[own];
  UNROLL
  for (int i = 0; i < own; ++i) sum[i] = result[i];
  int k = begin;
  ON_DEVICE(if (count >= end) {
    UNROLL
    for (; k < end; ++k) step<own>(left + Tile::place(k, 0), right + Tile::place(k, 0), sum);
  })
  ON_DEVICE(_Pragma("unroll 1"))
  for (; k < end && k < count; ++k) step<own>(left + Tile::place(k, 0), right + Tile::place(k, 0), sum);
  UNROLL
  for (int i = 0; i < own; ++i) result[i] = sum[i];
}

/// Up to four results side by side.
__device__ __forceinline__ Quad read(const float* from, int count, bool in_quads) {
  if (in_quads && count >= 4) return *reinterpret_cast<const Quad*>(from);
  Quad quad{};
  UNROLL
  for (int i = 0; i < 4; ++i)
    if (i < count) quad[i] = from[i];
  return quad;
}
__device__ __forceinline__ void write(float* to, const Quad& quad, int count, bool in_quads) {
  if (in_quads && count >= 4) {
    *reinterpret_cast<Quad*>(to) = quad;
  } else {
    UNROLL
    for (int i = 0; i < 4; ++i)
      if (i < count) to[i] = quad[i];
  }
}
__device__ __forceinline__ Quad sum_of(const Quad& a, const Quad& b) {
  Quad sum = a;
  UNROLL
  for (int i = 0; i < 4; ++i) sum[i] = sum[i] + b[i];
  return sum;
}

__device__ __forceinline__ float finished(float x, const float* bias, std::int64_t column, bool relu) {
  if (bias) x = x + bias[column];
  return relu ? numerics::relu(x) : x;
}

__device__ __forceinline__ int at_most(std::int64_t count, int most) {
  return count < most ? static_cast<int>(count) : most;
}

/// Between two blocks of the depth, what is finished waits in `sums`, which may be c.
template <class Tile, bool left_along_depth, bool right_along_depth>
__global__ void __launch_bounds__(Tile::lanes, 512 / Tile::lanes)
    multiply(const float* a, const float* b, float* sums, float* c, const float* bias, Job job) {
  SHARED(stage, typename Tile::Stage[2]);
  constexpr int own = Tile::own, warps_across = Tile::lanes_across / 8;
  unsigned matrix = blockIdx.x;
  auto next = [&matrix](int count) {
    const unsigned at = matrix % static_cast<unsigned>(count);
    matrix /= static_cast<unsigned>(count);
    return static_cast<std::int64_t>(at);
  };
  const std::int64_t column = next(job.across) * Tile::side, row = next(job.down) * Tile::side, part = next(job.parts);
  const std::int64_t begin = part * block, depth = job.parts == 1 ? job.depth : at_most(job.depth - begin, block);
  const int rows = at_most(job.rows - row, Tile::side), columns = at_most(job.columns - column, Tile::side);
  Loader<Tile, left_along_depth> left(
      a + matrix_offset(job.matrices, matrix, 0) + row * job.left.row_stride + begin * job.left.depth_stride, job.left,
      rows);
  Loader<Tile, right_along_depth> right(
      b + matrix_offset(job.matrices, matrix, 1) + column * job.right.row_stride + begin * job.right.depth_stride,
      job.right, columns);

  // A warp is eight lanes wide and four high.
  const int warp = static_cast<int>(threadIdx.x / lanes_per_warp), in_warp = static_cast<int>(lane());
  const int own_row = (warp / warps_across * 4 + in_warp / 8) * own;
  const int own_column = (warp % warps_across * 8 + in_warp % 8) * own;

  Row<own> sum[own] = {};
  // While a half is added, one operand of the next tile is on its way; both at once would take too many registers.
  Quad held[Tile::quads];
  const int tiles = depth == 0 ? 1 : static_cast<int>((depth + Tile::depth - 1) / Tile::depth);
  const int last_count = static_cast<int>(depth - (tiles - 1) * std::int64_t{Tile::depth});
  for (int tile = -1; tile < tiles; ++tile) {
    const bool more = tile + 1 < tiles;
    const int count = more ? Tile::depth : last_count, next_count = tile + 2 < tiles ? Tile::depth : last_count;
    typename Tile::Stage& next_stage = stage[(tile + 1) & 1];
    if (more) left.fetch(job.left, next_count, held);
    if (tile >= 0) add_half<Tile, 0>(stage[tile & 1], own_row, own_column, count, sum);
    if (more) {
      left.put(held, next_stage.left);
      right.fetch(job.right, next_count, held);
    }
    if (tile >= 0) add_half<Tile, 1>(stage[tile & 1], own_row, own_column, count, sum);
    if (more) right.put(held, next_stage.right);
    if (tile >= 0 && (!more || (tile + 1) % Tile::per_block == 0)) {
      const std::int64_t in_part = part * job.part_stride + column + own_column, own_first = row + own_row;
      float* waiting = sums + matrix_offset(job.matrices, matrix, 2) + in_part + own_first * job.sums_stride;
      float* result = c + matrix_offset(job.matrices, matrix, 3) + in_part + own_first * job.c_stride;
      UNROLL
      for (int i = 0; i < own; ++i) {
        UNROLL
        for (int j = 0; j < own; j += 4) {
          const int count = own_row + i < rows ? columns - own_column - j : 0;
          Quad total{};
          UNROLL
          for (int e = 0; e < 4; ++e) {
            total[e] = sum[i][j + e];
            sum[i][j + e] = 0;
          }
          if (count <= 0) continue;
          float* here = waiting + i * job.sums_stride + j;
          if (tile >= Tile::per_block) total = sum_of(read(here, count, job.results_in_quads), total);
          if (!more) {
            here = result + i * job.c_stride + j;
            UNROLL
            for (int e = 0; e < 4; ++e)
              if (e < count) total[e] = finished(total[e], bias, column + own_column + j + e, job.relu);
            if (job.accumulate) total = sum_of(read(here, count, job.results_in_quads), total);
          }
          write(here, total, count, job.results_in_quads);
        }
      }
    }
    if (more) __syncthreads();
  }
}

/// c from the sums of the parts, which lie side by side, added ascending; a lane an output.
__global__ void add_parts(const float* sums, float* c, const float* bias, Job job) {
  const std::int64_t i = element();
  if (i >= job.matrices.size * job.rows * job.columns) return;
  float total = sums[i];
  for (int part = 1; part < job.parts; ++part) total = total + sums[part * job.part_stride + i];
  const std::int64_t line = i / job.columns, column = i - line * job.columns, matrix = line / job.rows;
  total = finished(total, bias, column, job.relu);
  c += matrix_offset(job.matrices, static_cast<unsigned>(matrix), 3) + (line - matrix * job.rows) * job.c_stride +
       column;
  *c = job.accumulate ? *c + total : total;
}

}  // namespace
}  // namespace ASSAY_ISA

template <>
inline constexpr bool is_plain_argument<ASSAY_ISA::Job> = true;

namespace ASSAY_ISA {
namespace {

/// Whether four elements along `axis` can be read in one piece wherever the index is a multiple of four.
template <class T>
bool in_quads(const View<T>& x, int axis) {
  bool aligned = x.stride[axis] == 1 && reinterpret_cast<std::uintptr_t>(x.data) % sizeof(Quad) == 0;
  for (int other = 0; other < x.rank; ++other)
    aligned = aligned && (other == axis || x.extent[other] == 1 || x.stride[other] % 4 == 0);
  return aligned;
}

template <class Tile>
void launch_multiply(Tile, const View<const float>& a, const View<const float>& b, float* sums, float* c,
                     const float* bias, Job job) {
  const int last = a.rank - 1;
  const bool left_along_depth = a.stride[last] == 1;
  const bool right_along_depth = b.stride[last - 1] == 1 && b.stride[last] != 1;
  job.left = {a.stride[last - 1], a.stride[last], in_quads(a, left_along_depth ? last : last - 1)};
  job.right = {b.stride[last], b.stride[last - 1], in_quads(b, right_along_depth ? last - 1 : last)};
  const Grid grid{job.matrices.size * job.parts * job.down * job.across, Tile::lanes, true};
  auto go = [&]<bool l, bool r>(std::bool_constant<l>, std::bool_constant<r>) {
    launch<multiply<Tile, l, r>>("matmul", grid, a.data, b.data, sums, c, bias, job);
  };
  const std::true_type yes;
  const std::false_type no;
  if (left_along_depth)
    right_along_depth ? go(yes, yes) : go(yes, no);
  else
    right_along_depth ? go(no, yes) : go(no, no);
}

}  // namespace

void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c) {
  const int last = c.rank - 1;
  const std::int64_t rows = c.extent[last - 1], columns = c.extent[last], depth = a.extent[last];
  const std::int64_t blocks = depth == 0 ? 1 : (depth + block - 1) / block;
  const std::int64_t size = size_of(c), matrices = size == 0 ? 0 : size / rows / columns;
  if (size == 0) return;

  // From the shape alone: large tiles where they keep a device busy, and parts where whole tiles would not.
  auto tiles = [](std::int64_t extent, int side) { return (extent + side - 1) / side; };
  auto all_tiles = [&](int side) { return matrices * tiles(rows, side) * tiles(columns, side); };
  const bool large = rows >= LargeTile::side && columns >= LargeTile::side && all_tiles(LargeTile::side) * blocks >= 64;
  const int side = large ? LargeTile::side : SmallTile::side;
  const bool apart = blocks > 1 && all_tiles(side) < 256;
  const std::int64_t part_stride = apart ? (size + 3) / 4 * 4 : 0;  // whole quads
  const std::int64_t waiting = apart ? blocks * part_stride : epilogue.accumulate && blocks > 1 ? size : 0;
  const Scratch scratch(this_device, static_cast<std::size_t>(waiting) * sizeof(float));

  View<float> sums = c;
  if (waiting) {
    sums.data = reinterpret_cast<float*>(scratch.data());
    std::int64_t stride = 1;
    for (int axis = last; axis >= 0; stride *= c.extent[axis--]) sums.stride[axis] = stride;
  }
  Job job{};
  job.rows = rows;
  job.columns = columns;
  job.depth = depth;
  job.sums_stride = sums.stride[last - 1];
  job.c_stride = c.stride[last - 1];
  job.results_in_quads = in_quads(c, last) && in_quads(sums, last);
  job.relu = epilogue.relu;
  job.accumulate = epilogue.accumulate;
  job.across = static_cast<int>(tiles(columns, side));
  job.down = static_cast<int>(tiles(rows, side));
  job.parts = apart ? static_cast<int>(blocks) : 1;
  job.part_stride = part_stride;
  job.matrices = walk_of(0, last - 1, a, b, sums, c);
  auto run_with = [&](auto tile) {
    if (!apart) return launch_multiply(tile, a, b, sums.data, c.data, epilogue.bias.data, job);
    Job sums_alone = job;
    sums_alone.relu = sums_alone.accumulate = false;
    sums_alone.c_stride = job.sums_stride;
    sums_alone.matrices = walk_of(0, last - 1, a, b, sums, sums);
    launch_multiply(tile, a, b, sums.data, sums.data, nullptr, sums_alone);
    launch<add_parts>("matmul", lane_per(size), static_cast<const float*>(sums.data), c.data, epilogue.bias.data, job);
  };
  large ? run_with(LargeTile()) : run_with(SmallTile());
}

}  // namespace ASSAY_ISA
}  // namespace assay::kernels
