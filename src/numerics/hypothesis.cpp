// The arithmetic of the innermost scope, and what each is called.
#include "numerics/hypothesis.hpp"

#include "base/error.hpp"

namespace assay {
namespace {

const Arithmetic& checked(const Arithmetic& a) {
  using Order = Arithmetic::Order;
  if (a.contracted && !__builtin_cpu_supports("fma"))
    throw Error("NUM-2", "contracted arithmetic", "a processor with fma", "one without");
  const bool lanes = a.order == Order::lanes, counted = lanes || a.order == Order::blocks || a.order == Order::parts;
  if ((counted && a.width < 1) || (lanes && (a.width > 256 || (a.width & (a.width - 1)) != 0)))
    throw Error("RUN-1", "arithmetic with " + to_string(a),
                lanes ? "a power of two up to 256 of lanes" : "a width of at least 1", std::to_string(a.width));
  return a;
}

}  // namespace

const Arithmetic* detail::current_arithmetic = nullptr;

ArithmeticScope::ArithmeticScope(const Arithmetic& arithmetic)
    : arithmetic_(checked(arithmetic)),
      before_(__atomic_exchange_n(&detail::current_arithmetic, &arithmetic_, __ATOMIC_RELAXED)) {}
ArithmeticScope::~ArithmeticScope() { __atomic_store_n(&detail::current_arithmetic, before_, __ATOMIC_RELAXED); }

std::string to_string(const Arithmetic& a) {
  using Order = Arithmetic::Order;
  using Operands = Arithmetic::Operands;
  const std::string width = std::to_string(a.width), rounded = "operands of matrix products ";
  std::string words;
  const auto say = [&](bool holds, const std::string& what) {
    if (holds) words += (words.empty() ? "" : ", ") + what;
  };
  say(a.order == Order::serial, "sums in one ascending chain");
  say(a.order == Order::reversed, "sums in one descending chain");
  say(a.order == Order::pairwise, "sums by halves");
  say(a.order == Order::lanes, "sums in " + width + " lanes");
  say(a.order == Order::blocks, "sums in blocks of " + width);
  say(a.order == Order::parts, "sums in " + width + " parts");
  say(a.wide, "sums in binary64");
  say(!a.fused, "multiply-adds rounded twice");
  say(a.contracted, "contraction on");
  say(a.operands == Operands::tf32, rounded + "rounded to TF32");
  say(a.operands == Operands::tf32_away, rounded + "rounded to TF32, ties away from zero");
  say(a.operands == Operands::tf32_truncated, rounded + "truncated to TF32");
  say(a.operands == Operands::bf16, rounded + "rounded to bfloat16");
  say(a.flush, "subnormals flushed to zero");
  say(a.libm, "functions of libm");
  return words.empty() ? "as exact" : words;
}

}  // namespace assay
