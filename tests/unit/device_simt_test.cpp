// Kernels of CUDA on the host: what lanes do together, and that mistakes in kernels are seen.
#include <cmath>

#include "device/cpu/thread_pool.hpp"
#include "device/simulated/cuda_names.hpp"
#include "support/tensors.hpp"

BOOST_AUTO_TEST_SUITE(device_simt)

using namespace assay;
using namespace assay::simt;
using test::check_refused;

namespace {

constexpr std::uint32_t all = 0xffffffffu;

/// The sum of each row in lane order: 32 partial sums, then a tree over the warp.
__global__ void sum_rows(const float* x, float* y, int width) {
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += 32)
    sum += x[blockIdx.x * static_cast<unsigned>(width) + static_cast<unsigned>(i)];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

/// A transposed square through shared memory.
template <bool with_barrier>
__global__ void transpose(const float* x, float* y) {
  SHARED(tile, float[8][9]);
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
  if (with_barrier) __syncthreads();
  y[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i));
  return values;
}

const std::vector<std::pair<LaneOrder, std::uint64_t>> orders{
    {LaneOrder::ascending, 0}, {LaneOrder::descending, 0}, {LaneOrder::shuffled, 1}, {LaneOrder::shuffled, 2}};

}  // namespace

BOOST_AUTO_TEST_CASE(every_lane_of_every_block_runs_once_and_knows_its_place) {
  for (bool meets : {false, true})
    for (int count : {1, 3}) {
      set_threads(count);
      std::vector<int> runs(3 * 2 * 2 * 5 * 3 * 2);
      run({"places", {3, 2, 2}, {5, 3, 2}, meets}, [&] {
        const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const unsigned lane = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        ++runs[block * blockDim.x * blockDim.y * blockDim.z + lane];
      });
      BOOST_TEST(runs == std::vector<int>(runs.size(), 1), boost::test_tools::per_element());
    }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(shuffles_give_the_sum_of_a_plain_tree_in_every_order_of_lanes_and_on_any_threads) {
  const std::vector<float> x = numbers(7 * 100);
  std::vector<float> expected;
  for (std::size_t row = 0; row < 7; ++row) {
    float sums[32] = {};
    for (std::size_t i = 0; i < 100; ++i) sums[i % 32] += x[row * 100 + i];
    for (std::size_t step = 16; step > 0; step /= 2)
      for (std::size_t i = 0; i < step; ++i) sums[i] += sums[i + step];
    expected.push_back(sums[0]);
  }
  for (const auto& [order, seed] : orders)
    for (int count : {1, 2, 7}) {
      set_threads(count);
      const LaneOrderScope scope(order, seed);
      std::vector<float> y(7);
      run({"sum_rows", {7}, {32}, true}, [&] { sum_rows(x.data(), y.data(), 100); });
      BOOST_TEST(y == expected, boost::test_tools::per_element());
    }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(each_shuffle_and_the_ballot_give_what_the_device_gives) {
  std::vector<int> xored(64), down(64), up(64), from(64);
  std::vector<unsigned> odd(64);
  run({"shuffles", {1}, {64}, true}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    xored[threadIdx.x] = __shfl_xor_sync(all, lane, 5);
    down[threadIdx.x] = __shfl_down_sync(all, lane, 3, 8);
    up[threadIdx.x] = __shfl_up_sync(all, lane, 3, 8);
    from[threadIdx.x] = __shfl_sync(all, lane, 2, 16);
    odd[threadIdx.x] = __ballot_sync(all, lane % 2);
    __syncwarp();
  });
  for (int i = 0; i < 64; ++i) {
    const auto at = static_cast<std::size_t>(i);
    BOOST_TEST(xored[at] == (i ^ 5));
    BOOST_TEST(down[at] == (i % 8 + 3 < 8 ? i + 3 : i));
    BOOST_TEST(up[at] == (i % 8 >= 3 ? i - 3 : i));
    BOOST_TEST(from[at] == i / 16 * 16 + 2);
    BOOST_TEST(odd[at] == 0xaaaaaaaau);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_barrier_shows_as_other_bits_in_another_order) {
  const std::vector<float> x = numbers(64);
  std::vector<float> expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = x[i % 8 * 8 + i / 8];
  auto transposed = [&](auto kernel) {
    std::vector<float> y(64);
    run({"transpose", {1}, {8, 8}, true}, [&] { kernel(x.data(), y.data()); });
    return y;
  };
  const std::vector<float> first = transposed(transpose<false>);
  bool seen = false;
  for (const auto& [order, seed] : orders) {
    const LaneOrderScope scope(order, seed);
    BOOST_TEST(transposed(transpose<true>) == expected, boost::test_tools::per_element());
    seen = seen || std::memcmp(transposed(transpose<false>).data(), first.data(), sizeof(float) * 64) != 0;
  }
  BOOST_TEST(seen);
}

BOOST_AUTO_TEST_CASE(lanes_that_do_not_meet_and_write_one_place_show_as_other_bits_in_another_order) {
  auto last = [](LaneOrder order, std::uint64_t seed) {
    const LaneOrderScope scope(order, seed);
    unsigned lane = 0;
    run({"last", {1}, {64}}, [&] { lane = threadIdx.x; });
    return lane;
  };
  BOOST_TEST(last(LaneOrder::ascending, 0) == 63u);
  BOOST_TEST(last(LaneOrder::descending, 0) == 0u);
  BOOST_TEST(last(LaneOrder::shuffled, 1) != last(LaneOrder::shuffled, 2));
}

BOOST_AUTO_TEST_CASE(a_read_of_shared_memory_that_nobody_wrote_is_NaN_in_every_block) {
  std::vector<float> y(4);
  run({"unwritten", {2}, {2}, true}, [&] {
    SHARED(row, float[2]);
    y[blockIdx.x * 2 + threadIdx.x] = row[threadIdx.x] + 1;
    row[threadIdx.x] = 1;
  });
  for (float value : y) BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_CASE(a_write_beside_shared_memory_names_kernel_block_and_lane) {
  for (int place : {-1, 33})
    check_refused(
        [&] {
          run({"overrun", {3}, {32}, true}, [&] {
            SHARED(row, float[33]);
            float* begin = row;
            begin[threadIdx.x] = 1;
            __syncthreads();
            if (blockIdx.x == 1 && threadIdx.x == 7) begin[place] = 1;
            __syncthreads();
          });
        },
        "RES-6", "kernel overrun, block (1, 0, 0), lane 7: expected writes to the 132 bytes of a shared array");
}

BOOST_AUTO_TEST_CASE(a_barrier_that_not_all_lanes_reach_names_kernel_block_and_lane) {
  auto refused = [](auto kernel, const std::string& text) {
    check_refused([&] { run({"divergent", {2}, {40}, true}, kernel); }, "RES-6", text);
  };
  refused(
      [] {
        if (threadIdx.x != 17) __syncthreads();
      },
      "kernel divergent, block (0, 0, 0), lane 0: expected all for which it waits at the barrier in line");
  refused(
      [] {
        if (threadIdx.x != 17) __syncthreads();
      },
      "found lane 17 at its end");
  refused(
      [] {
        if (threadIdx.x < 20)
          __syncthreads();
        else
          __syncthreads();
      },
      "found lane 20 at the barrier in line");
  refused(
      [] {
        if (threadIdx.x == 3)
          __syncthreads();
        else
          __shfl_xor_sync(all, 1, 1);
      },
      "found lane 3 at the barrier");
}

BOOST_AUTO_TEST_CASE(a_shuffle_without_all_lanes_of_its_mask_or_from_another_lane_is_refused) {
  auto refused = [](auto kernel, const std::string& text) {
    check_refused([&] { run({"shuffle", {1}, {32}, true}, kernel); }, "RES-6", text);
  };
  refused(
      [] {
        if (threadIdx.x != 9) __shfl_xor_sync(all, 1, 1);
      },
      "found lane 9 at its end");
  refused(
      [] {
        if (threadIdx.x < 8) __shfl_sync(0xffu, 1, 8);
      },
      "expected a shuffle from a lane of its mask");
  refused([] { __shfl_sync(0xfffffffeu, 1, 1); }, "lane 0: expected a mask with its own lane");
  int sum = 0;
  run({"part", {1}, {32}, true}, [&] {
    if (threadIdx.x < 8) sum += __shfl_xor_sync(0xffu, static_cast<int>(threadIdx.x), 7);
  });
  BOOST_TEST(sum == 28);
}

BOOST_AUTO_TEST_CASE(lanes_that_were_not_to_meet_are_refused_when_they_do) {
  for (auto kernel : {+[] { __syncthreads(); }, +[] { __shfl_xor_sync(all, 1, 1); },
                      +[] {
                        SHARED(row, float[2]);
                        row[0] = 1;
                      }})
    check_refused([&] { run({"alone", {1}, {4}}, kernel); }, "RES-6", "launched as one whose lanes meet");
  check_refused([] { run({"large", {1}, {1025}}, [] {}); }, "RES-6", "1 to 1024 lanes");
  check_refused([] { run({"none", {0}, {1}}, [] {}); }, "RES-6", "blocks");
}

BOOST_AUTO_TEST_CASE(what_a_lane_throws_comes_through_and_the_other_lanes_are_unwound) {
  struct Counted {
    int& alive;
    explicit Counted(int& count) : alive(count) { ++alive; }
    ~Counted() { --alive; }
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    int alive = 0, beyond = 0;
    auto kernel = [&] {
      const Counted counted(alive);
      __syncthreads();
      if (threadIdx.x == 13) throw std::runtime_error("lane 13");
      __syncthreads();
      ++beyond;
    };
    BOOST_CHECK_EXCEPTION(run({"throwing", {1}, {64}, true}, kernel), std::runtime_error,
                          [](const auto& error) { return error.what() == std::string("lane 13"); });
    BOOST_TEST(alive == 0);
    BOOST_TEST(beyond == 0);
  }
}

BOOST_AUTO_TEST_CASE(of_several_blocks_that_fail_the_first_is_told) {
  for (int count : {1, 4}) {
    set_threads(count);
    check_refused(
        [] {
          run({"late", {16}, {2}, true}, [] {
            if (blockIdx.x >= 5 && threadIdx.x == 0) __syncthreads();
          });
        },
        "RES-6", "block (5, 0, 0)");
  }
  set_threads(1);
}

BOOST_AUTO_TEST_SUITE_END()
