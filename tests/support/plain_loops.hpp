// The orders of N2 and N3, the maximum of N1 and the digest of N9 as plain loops over logical elements: they share no
// code with the kernels and with numerics/order.hpp, and say what the bits of both are.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace assay::test::plain {

/// Σ x in chain order.
inline float chain(const std::vector<float>& x) {
  float total = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += 512) {
    float part = 0;
    for (std::size_t k = begin; k < x.size() && k < begin + 512; ++k) part = part + x[k];
    total = begin == 0 ? part : total + part;
  }
  return total;
}

/// Σ a·b in chain order, the elements of a and b that many places apart.
inline float chain_dot(std::int64_t count, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step) {
  float total = 0;
  for (std::int64_t begin = 0; begin < count; begin += 512) {
    float part = 0;
    for (std::int64_t k = begin; k < count && k < begin + 512; ++k) part = std::fma(a[k * a_step], b[k * b_step], part);
    total = begin == 0 ? part : total + part;
  }
  return total;
}

/// Lane order of `count` steps: step(lane, i) is the lane after element i.
template <class T>
T lanes(std::size_t count, const std::function<T(T, std::size_t)>& step) {
  std::vector<T> sums;
  for (std::size_t begin = 0; begin < count || begin == 0; begin += 4096) {
    T lane[32] = {};
    for (std::size_t i = begin; i < count && i < begin + 4096; ++i) lane[i % 32] = step(lane[i % 32], i);
    for (int w : {16, 8, 4, 2, 1})
      for (int l = 0; l < w; ++l) lane[l] = lane[l] + lane[l + w];
    sums.push_back(lane[0]);
  }
  if (sums.size() == 1) return sums[0];
  return lanes<T>(sums.size(), [&](T lane, std::size_t i) { return lane + sums[i]; });
}
inline float lane_sum(const std::vector<float>& x) {
  return lanes<float>(x.size(), [&](float lane, std::size_t i) { return lane + x[i]; });
}
inline float lane_dot(const std::vector<float>& a, const std::vector<float>& b) {
  return lanes<float>(a.size(), [&](float lane, std::size_t i) { return std::fma(a[i], b[i], lane); });
}

inline std::uint32_t bits(float x) { return x != x ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x); }

/// The lowest index of the maximum: a NaN before all, +0 before −0.
inline std::size_t argmax(const std::vector<float>& x) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const float a = x[best], b = x[i];
    if (a != a) break;
    if (b != b || b > a || (a == b && std::signbit(a) && !std::signbit(b))) best = i;
  }
  return best;
}

inline std::uint64_t digest(const std::vector<float>& x, std::uint64_t first) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint64_t z = ((first + i) << 32) + bits(x[i]) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    sum += z ^ (z >> 31);
  }
  return sum;
}

}  // namespace assay::test::plain
