// Attention, a warp a query, and for the gradients by k and v a warp a key. The lanes compute 32 weights side by side,
// then every lane adds them one after the other into the outputs that it owns.
#include "kernels/attention.hpp"

#include "device/scratch.hpp"
#include "kernels/cuda/lanes.cuh"
#include "numerics/exp.hpp"
#include "numerics/order.hpp"

namespace assay::kernels {
namespace ASSAY_ISA {
namespace {

constexpr auto key_block = static_cast<std::int64_t>(numerics::chain_block);
constexpr int own_outputs = 4;  // that a lane adds at a time
constexpr int most_warps = 32;
static_assert(key_block % lanes_per_warp == 0);

/// Rows of all heads: strides between samples and between rows. The elements of a head lie side by side.
struct Rows {
  std::int64_t sample, row;
};

/// What is to be computed: extents, where rows lie, and the two factors.
struct AttentionJob {
  std::int64_t heads, queries, keys, width;
  Rows q, k, v, contiguous_q, contiguous_k;
  float scale, kept;

  __device__ __forceinline__ std::int64_t offset() const { return keys - queries; }
  template <class T>
  __device__ __forceinline__ T* row_of(T* data, const Rows& rows, std::int64_t head, std::int64_t t) const {
    return data + head / heads * rows.sample + t * rows.row + head % heads * width;
  }
};

/// The sum of one output in chain order: terms go to `part`, a block of the chain ends with `finish`.
struct Chain {
  float part = 0, total = 0;
  bool first = true;

  __device__ __forceinline__ void finish() {
    total = first ? part : total + part;
    part = 0;
    first = false;
  }
};

/// Σ a[j]·b[j] in chain order.
__device__ __forceinline__ float dot(std::int64_t width, const float* a, const float* b) {
  Chain sum;
  for (std::int64_t j = 0; j < width;) {
    const std::int64_t stop = j + key_block < width ? j + key_block : width;
    for (; j < stop; ++j) sum.part = numerics::fma(a[j], b[j], sum.part);
    sum.finish();
  }
  return sum.total;
}

/// Calls group(begin) for as many outputs from `begin` on as the lanes own at a time.
template <class Group>
__device__ __forceinline__ void each_group(std::int64_t width, Group group) {
  for (std::int64_t j = 0; j < width; j += own_outputs * lanes_per_warp) group(j + lane());
}

/// sums[i] = Σ weight(n)·row(n)[output of the lane] in chain order over n in [begin, end). weight is called by the lane
/// whose turn it is, for 32 numbers side by side, and add(n, w) by all lanes for one number after the other.
template <class Weight, class Add, class Finish>
__device__ __forceinline__ void each_weight(float* shared, std::int64_t begin, std::int64_t end, Weight weight, Add add,
                                            Finish finish) {
  for (std::int64_t tile = begin / lanes_per_warp * lanes_per_warp; tile < end; tile += lanes_per_warp) {
    if (tile > begin && tile % key_block == 0) finish();
    const std::int64_t own = tile + lane();
    if (own >= begin && own < end) shared[lane()] = weight(own);
    __syncwarp();
    const std::int64_t stop = tile + lanes_per_warp < end ? tile + lanes_per_warp : end;
    for (std::int64_t n = tile < begin ? begin : tile; n < stop; ++n) add(n, shared[n - tile]);
    __syncwarp();
  }
  finish();
}

/// Adds w·x to the sums of the outputs from `j` on that the lane owns.
__device__ __forceinline__ void add_row(Chain* sums, float w, const float* x, std::int64_t j, std::int64_t width) {
  UNROLL
  for (int i = 0; i < own_outputs; ++i) {
    const std::int64_t at = j + i * static_cast<int>(lanes_per_warp);
    if (at < width) sums[i].part = numerics::fma(w, x[at], sums[i].part);
  }
}
__device__ __forceinline__ void finish_all(Chain* sums) {
  UNROLL
  for (int i = 0; i < own_outputs; ++i) sums[i].finish();
}
/// Calls store(output, sum) for the outputs from `j` on that the lane owns.
template <class Store>
__device__ __forceinline__ void each_sum(const Chain* sums, std::int64_t j, std::int64_t width, Store store) {
  UNROLL
  for (int i = 0; i < own_outputs; ++i) {
    const std::int64_t at = j + i * static_cast<int>(lanes_per_warp);
    if (at < width) store(at, sums[i].total);
  }
}

/// x·kept where the mask keeps weight `index`, else +0; without a mask x.
__device__ __forceinline__ float selected(float x, const std::uint8_t* mask, std::int64_t index, float kept) {
  return mask == nullptr ? x : mask[index] != 0 ? x * kept : 0;
}

__global__ void attention_rows(AttentionJob job, std::int64_t rows, const float* q, const float* k, const float* v,
                               const std::uint8_t* mask, float* output, float* most, float* sum, float* exponentials) {
  SHARED(weights, float[most_warps][lanes_per_warp]);
  if (row() >= rows) return;
  float* const shared = weights[threadIdx.x / lanes_per_warp];
  const std::int64_t head = row() / job.queries, query = row() % job.queries, seen = job.offset() + query + 1;
  const float* own = job.row_of(q, job.q, head, query);
  auto score = [&](std::int64_t n) { return dot(job.width, own, job.row_of(k, job.k, head, n)) * job.scale; };

  float best = -__builtin_inff();
  for (std::int64_t n = lane(); n < seen; n += lanes_per_warp) best = numerics::maximum(best, score(n));
  best = across_warp(best, [](float a, float b) { return numerics::maximum(a, b); });

  each_group(job.width, [&](std::int64_t j) {
    Chain sums[own_outputs], exponential_sum;
    auto weight = [&](std::int64_t n) {
      const float e = numerics::exp(score(n) - best);
      if (exponentials != nullptr) exponentials[(head * job.keys + n) * job.queries + query] = e;
      return e;
    };
    auto add = [&](std::int64_t n, float e) {
      exponential_sum.part = exponential_sum.part + e;
      add_row(sums, selected(e, mask, row() * job.keys + n, job.kept), job.row_of(v, job.v, head, n), j, job.width);
    };
    each_weight(shared, 0, seen, weight, add, [&] {
      exponential_sum.finish();
      finish_all(sums);
    });
    float* const to = job.row_of(output, job.contiguous_q, head, query);
    each_sum(sums, j, job.width, [&](std::int64_t at, float value) { to[at] = value / exponential_sum.total; });
    if (j == 0) sum[row()] = exponential_sum.total;
  });
  if (lane() == 0) most[row()] = best;
}

/// The weight of a query (by its number among the queries) and a key, and its gradient by the score but for δ.
struct Weight {
  float p, by_weight;

  __device__ __forceinline__ Weight(const AttentionJob& job, const float* q, const float* k, const float* v,
                                    const float* upstream, const float* most, const float* sum,
                                    const float* exponentials, std::int64_t head, std::int64_t query, std::int64_t n) {
    const std::int64_t row = head * job.queries + query;
    const float e =
        exponentials != nullptr
            ? exponentials[(head * job.keys + n) * job.queries + query]
            : numerics::exp(dot(job.width, job.row_of(q, job.q, head, query), job.row_of(k, job.k, head, n)) *
                                job.scale -
                            most[row]);
    p = e / sum[row];
    by_weight = dot(job.width, job.row_of(upstream, job.contiguous_q, head, query), job.row_of(v, job.v, head, n));
  }
};

__global__ void attention_query_gradient(AttentionJob job, std::int64_t rows, const float* q, const float* k,
                                         const float* v, const std::uint8_t* mask, const float* output,
                                         const float* most, const float* sum, const float* exponentials,
                                         const float* upstream, float* deltas, float* gradient) {
  SHARED(weights, float[most_warps][lanes_per_warp]);
  if (row() >= rows) return;
  float* const shared = weights[threadIdx.x / lanes_per_warp];
  const std::int64_t head = row() / job.queries, query = row() % job.queries, seen = job.offset() + query + 1;
  const float delta = dot(job.width, job.row_of(upstream, job.contiguous_q, head, query),
                          job.row_of(output, job.contiguous_q, head, query));
  if (lane() == 0) deltas[row()] = delta;
  each_group(job.width, [&](std::int64_t j) {
    Chain sums[own_outputs];
    auto weight = [&](std::int64_t n) {
      const Weight w(job, q, k, v, upstream, most, sum, exponentials, head, query, n);
      return w.p * (selected(w.by_weight, mask, row() * job.keys + n, job.kept) - delta);
    };
    auto add = [&](std::int64_t n, float z) { add_row(sums, z, job.row_of(k, job.k, head, n), j, job.width); };
    each_weight(shared, 0, seen, weight, add, [&] { finish_all(sums); });
    float* const to = job.row_of(gradient, job.contiguous_q, head, query);
    each_sum(sums, j, job.width, [&](std::int64_t at, float value) { to[at] = value * job.scale; });
  });
}

__global__ void attention_key_gradients(AttentionJob job, std::int64_t rows, const float* q, const float* k,
                                        const float* v, const std::uint8_t* mask, const float* most, const float* sum,
                                        const float* exponentials, const float* upstream, const float* deltas,
                                        float* k_gradient, float* v_gradient) {
  SHARED(weights, float[most_warps][lanes_per_warp]);
  if (row() >= rows) return;
  float* const shared = weights[threadIdx.x / lanes_per_warp];
  const std::int64_t head = row() / job.keys, key = row() % job.keys, offset = job.offset();
  const std::int64_t first = key < offset ? offset : key;
  auto weight_index = [&](std::int64_t t) { return (head * job.queries + t - offset) * job.keys + key; };
  auto weight_of = [&](std::int64_t t) {
    return Weight(job, q, k, v, upstream, most, sum, exponentials, head, t - offset, key);
  };
  each_group(job.width, [&](std::int64_t j) {
    Chain sums[own_outputs];
    auto by_score = [&](std::int64_t t) {
      const Weight w = weight_of(t);
      return w.p * (selected(w.by_weight, mask, weight_index(t), job.kept) - deltas[head * job.queries + t - offset]);
    };
    auto add = [&](std::int64_t t, float z) { add_row(sums, z, job.row_of(q, job.q, head, t - offset), j, job.width); };
    each_weight(shared, first, job.keys, by_score, add, [&] { finish_all(sums); });
    float* const to = job.row_of(k_gradient, job.contiguous_k, head, key);
    each_sum(sums, j, job.width, [&](std::int64_t at, float value) { to[at] = value * job.scale; });
  });
  each_group(job.width, [&](std::int64_t j) {
    Chain sums[own_outputs];
    auto dropped = [&](std::int64_t t) { return selected(weight_of(t).p, mask, weight_index(t), job.kept); };
    auto add = [&](std::int64_t t, float w) {
      add_row(sums, w, job.row_of(upstream, job.contiguous_q, head, t - offset), j, job.width);
    };
    each_weight(shared, first, job.keys, dropped, add, [&] { finish_all(sums); });
    float* const to = job.row_of(v_gradient, job.contiguous_k, head, key);
    each_sum(sums, j, job.width, [&](std::int64_t at, float value) { to[at] = value; });
  });
}

AttentionJob job_of(const View<const float>& q, const View<const float>& k, const View<const float>& v,
                    const AttentionFactors& factors) {
  const std::int64_t queries = q.extent[1], keys = k.extent[1], row = q.extent[2], width = row / factors.heads;
  auto rows = [](const View<const float>& x) { return Rows{x.stride[0], x.stride[1]}; };
  return {factors.heads,        queries,           keys,          width,       rows(q), rows(k), rows(v),
          {queries * row, row}, {keys * row, row}, factors.scale, factors.kept};
}

}  // namespace
}  // namespace ASSAY_ISA

template <>
inline constexpr bool is_plain_argument<ASSAY_ISA::AttentionJob> = true;

namespace ASSAY_ISA {

void attention(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
               AttentionFactors factors, View<float> output, View<float> most, View<float> sum,
               View<float> exponentials) {
  const AttentionJob job = job_of(q, k, v, factors);
  const std::int64_t rows = q.extent[0] * factors.heads * job.queries;
  launch<attention_rows>("attention", warp_per(rows), job, rows, q.data, k.data, v.data, mask.data, output.data,
                         most.data, sum.data, exponentials.data);
}

void attention_gradient(View<const float> q, View<const float> k, View<const float> v, View<const std::uint8_t> mask,
                        AttentionFactors factors, View<const float> output, View<const float> most,
                        View<const float> sum, View<const float> exponentials, View<const float> upstream,
                        View<float> q_gradient, View<float> k_gradient, View<float> v_gradient) {
  const AttentionJob job = job_of(q, k, v, factors);
  const std::int64_t queries = q.extent[0] * factors.heads * job.queries, keys = q.extent[0] * factors.heads * job.keys;
  Scratch scratch(this_device, static_cast<std::size_t>(queries) * sizeof(float));
  auto* const deltas = reinterpret_cast<float*>(scratch.data());
  launch<attention_query_gradient>("attention_gradient", warp_per(queries), job, queries, q.data, k.data, v.data,
                                   mask.data, output.data, most.data, sum.data, exponentials.data, upstream.data,
                                   deltas, q_gradient.data);
  launch<attention_key_gradients>("attention_gradient", warp_per(keys), job, keys, q.data, k.data, v.data, mask.data,
                                  most.data, sum.data, exponentials.data, upstream.data,
                                  static_cast<const float*>(deltas), k_gradient.data, v_gradient.data);
}

}  // namespace ASSAY_ISA
}  // namespace assay::kernels
