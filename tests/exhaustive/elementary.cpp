// Checks an elementary function on all 2³² binary32 inputs against the correctly rounded value; on demand, minutes
// each.
//
// A binary64 candidate of the platform's libm decides an input when the interval of ±2⁻⁴⁶ of it (relative; libm states
// errors below 2⁻⁵⁰) rounds to one binary32 value; every other input is decided by MPFR with 300 bits.
//
//     exhaustive exp            all inputs of one function
//     exhaustive exp 0 65536    bit patterns first … last − 1
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "numerics/cos.hpp"
#include "numerics/digest.hpp"
#include "numerics/erf.hpp"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "numerics/rsqrt.hpp"
#include "numerics/sigmoid.hpp"
#include "numerics/tanh.hpp"

namespace {

namespace numerics = assay::numerics;

constexpr double candidate_error = 0x1p-46;
constexpr std::size_t batch = 4096;

struct Function {
  const char* name;
  void (*ours)(const float*, float*);  // `batch` values
  double (*candidate)(double);
  void (*exact)(mpfr_t result, const mpfr_t x);
};

template <float (*f)(float)>
void over_batch(const float* x, float* y) {
  for (std::size_t i = 0; i < batch; ++i) y[i] = f(x[i]);
}

void exact_sigmoid(mpfr_t result, const mpfr_t x) {
  mpfr_neg(result, x, MPFR_RNDN);
  mpfr_exp(result, result, MPFR_RNDN);
  mpfr_add_ui(result, result, 1, MPFR_RNDN);
  mpfr_ui_div(result, 1, result, MPFR_RNDN);
}

template <int (*f)(mpfr_t, mpfr_srcptr, mpfr_rnd_t)>
void exact(mpfr_t result, const mpfr_t x) {
  f(result, x, MPFR_RNDN);
}

const Function functions[] = {
    {"exp", over_batch<numerics::exp>, [](double x) { return std::exp(x); }, exact<mpfr_exp>},
    {"log", over_batch<numerics::log>, [](double x) { return std::log(x); }, exact<mpfr_log>},
    {"tanh", over_batch<numerics::tanh>, [](double x) { return std::tanh(x); }, exact<mpfr_tanh>},
    {"sigmoid", over_batch<numerics::sigmoid>, [](double x) { return 1 / (1 + std::exp(-x)); }, exact_sigmoid},
    {"erf", over_batch<numerics::erf>, [](double x) { return std::erf(x); }, exact<mpfr_erf>},
    {"rsqrt", over_batch<numerics::rsqrt>, [](double x) { return 1 / std::sqrt(x); }, exact<mpfr_rec_sqrt>},
    {"cos", over_batch<numerics::cos>, [](double x) { return std::cos(x); }, exact<mpfr_cos>},
    {"sin", over_batch<numerics::sin>, [](double x) { return std::sin(x); }, exact<mpfr_sin>},
};

int check(const Function& function, std::uint64_t first, std::uint64_t last) {
  mpfr_t x_exact, y_exact;
  mpfr_inits2(300, x_exact, y_exact, static_cast<mpfr_ptr>(nullptr));
  std::uint64_t decided_by_mpfr = 0, wrong = 0, digest = 0;
  float x[batch], y[batch];
  for (std::uint64_t start = first; start < last; start += batch) {
    for (std::size_t i = 0; i < batch; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(start + i));
    function.ours(x, y);
    digest += numerics::digest(y, batch, start);
    for (std::size_t i = 0; i < batch; ++i) {
      const double candidate = function.candidate(x[i]);
      float expected = static_cast<float>(candidate * (1 - candidate_error));
      const float upper = static_cast<float>(candidate * (1 + candidate_error));
      if (numerics::canonical_bits(expected) != numerics::canonical_bits(upper)) {
        ++decided_by_mpfr;
        mpfr_set_flt(x_exact, x[i], MPFR_RNDN);
        function.exact(y_exact, x_exact);
        expected = mpfr_get_flt(y_exact, MPFR_RNDN);
      }
      if (numerics::canonical_bits(y[i]) != numerics::canonical_bits(expected) && ++wrong <= 20)
        std::printf("%s(%a): expected %a, got %a\n", function.name, static_cast<double>(x[i]),
                    static_cast<double>(expected), static_cast<double>(y[i]));
    }
  }
  mpfr_clears(x_exact, y_exact, static_cast<mpfr_ptr>(nullptr));
  std::printf("%-8s inputs %llu  decided by MPFR %llu  wrong %llu  digest %016llx\n", function.name,
              static_cast<unsigned long long>(last - first), static_cast<unsigned long long>(decided_by_mpfr),
              static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(digest));
  std::fflush(stdout);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view name = count > 1 ? arguments[1] : "";
  const std::uint64_t first = count > 2 ? std::strtoull(arguments[2], nullptr, 0) : 0;
  const std::uint64_t last = count > 3 ? std::strtoull(arguments[3], nullptr, 0) : std::uint64_t{1} << 32;
  for (const Function& function : functions)
    if (name == function.name) return check(function, first / batch * batch, (last + batch - 1) / batch * batch);
  std::fprintf(stderr, "usage: exhaustive exp|log|tanh|sigmoid|erf|rsqrt|cos|sin [first [last]]\n");
  return 2;
}
