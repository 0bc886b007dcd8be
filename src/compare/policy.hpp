// Policy: when two numbers count as the same.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// `bitwise`, `ulp:N` or `close:RTOL,ATOL`. Under each of them two NaNs are the same and a NaN and a number are not.
///
/// - bitwise: the same bits; +0 and −0 differ.
/// - ulp:N: at most N units in the last place apart; +0 and −0 are one apart.
/// - close:RTOL,ATOL: |a − b| ≤ ATOL + RTOL · max(|a|, |b|); an infinity is close to itself only.
///
///     parse_policy("close:1e-3,1e-6").accepts(1.0, 1.0005, false);  // true
struct Policy {
  enum class Kind { bitwise, ulp, close };
  Kind kind = Kind::bitwise;
  std::uint64_t ulps = 0;
  double rtol = 0, atol = 0;
  std::string text = "bitwise";  ///< as it was given

  /// `narrow`: ULPs are those of float32, to which both are rounded once; else those of float64.
  bool accepts(double a, double b, bool narrow) const;
};

/// Errors: CMP-5 for another text, or a number that is negative or not finite.
Policy parse_policy(const std::string& text);

/// ULPs from a to b, of float32 when `narrow`, else of float64.
std::uint64_t ulps_between(double a, double b, bool narrow);

/// The same bits, any two NaNs included.
bool same_bits(double a, double b);

}  // namespace assay
