// Arithmetic: how kernels compute under a hypothesis, to find out which one another program's bits come from.
#pragma once

#include <string>

namespace assay {

/// A way to compute that is not the promised one; as it is made, it has the bits of `exact`. What each switch stands
/// for in the world says reference/hypotheses.md.
struct Arithmetic {
  enum class Order {
    exact,     ///< N2 and N3
    serial,    ///< one ascending chain
    reversed,  ///< one descending chain
    pairwise,  ///< the sum of the first half + the sum of the second, and so on down to one element
    lanes,     ///< element k is added to lane k mod `width`; then lane l adds lane l + w, w = width / 2 … 1
    blocks,    ///< a chain for each `width` neighbours; their sums in one ascending chain
    parts,     ///< the same, the range cut into `width` parts of equal length (the last may be shorter)
  };
  enum class Operands { exact, tf32, tf32_away, tf32_truncated, bf16 };

  Order order = Order::exact;  ///< of all sums and sums of products, those of a table's gradient included
  int width = 0;               ///< of lanes a power of two up to 256
  bool wide = false;           ///< sums in binary64, rounded once; if the order is exact, in one ascending chain
  bool fused = true;           ///< else each multiply-add rounds twice
  bool contracted = false;     ///< where a product is added plainly, the compiler fuses the two; overrules `fused`
  Operands operands = Operands::exact;  ///< what operands of matrix products are rounded to
  bool flush = false;                   ///< subnormal operands and results are zeros
  bool libm = false;                    ///< exp, log, tanh and erf of libm; sigmoid as 1 / (1 + exp(−x))
};

/// In words, "as exact" where nothing is switched.
///
///     to_string(Arithmetic{.order = Arithmetic::Order::lanes, .width = 8});  // "sums in 8 lanes"
std::string to_string(const Arithmetic& arithmetic);

namespace detail {
extern const Arithmetic* current_arithmetic;
}

/// That of the innermost scope, or null.
[[gnu::always_inline]] inline const Arithmetic* arithmetic() {
  return __atomic_load_n(&detail::current_arithmetic, __ATOMIC_RELAXED);
}

/// While one exists, kernels of the cpu device compute so, whatever the profile and on whatever thread they are called;
/// slowly, each on the thread that calls it. Not to be made or ended while a kernel runs. Errors: NUM-2 for contraction
/// on a processor without fma, RUN-1 for a width that the order does not have.
///
///     ArithmeticScope scope({.order = Arithmetic::Order::lanes, .width = 8});
///     Tensor y = kernels::matmul(a, b);
class ArithmeticScope {
 public:
  explicit ArithmeticScope(const Arithmetic& arithmetic);
  ~ArithmeticScope();
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

 private:
  const Arithmetic arithmetic_;
  const Arithmetic* const before_;
};

}  // namespace assay
