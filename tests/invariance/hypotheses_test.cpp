// Kernels under a hypothesis: with nothing switched they have the bits of exact, with a switch those of a plain loop.
#include "numerics/hypothesis.hpp"

#include <xmmintrin.h>

#include <cmath>

#include "kernels/adam.hpp"
#include "kernels/scale.hpp"
#include "kernels/sgd.hpp"
#include "numerics/exp.hpp"
#include "support/operations.hpp"

namespace assay::kernels {  // where a kernel is called by its name

using namespace assay::test;

namespace {

using Order = Arithmetic::Order;
using Operands = Arithmetic::Operands;
using Row = std::vector<float>;

Row values_of(const Tensor& x) {
  const auto all = x.read<float>();
  return {all.begin(), all.end()};
}

// f(first[i], rest[i]…) for each element.
template <class F, class... Rest>
Tensor each(F f, const Tensor& first, const Rest&... rest) {
  const std::vector<Row> operands{values_of(first), values_of(rest)...};
  Row all;
  for (std::size_t i = 0; i < operands[0].size(); ++i)
    all.push_back([&]<std::size_t... o>(std::index_sequence<o...>) {
      return f(operands[o][i]...);
    }(std::make_index_sequence<1 + sizeof...(Rest)>()));
  return Tensor::from(all, first.shape(), cpu);
}

template <class Compute>
auto supposing(const Arithmetic& arithmetic, Compute compute) {
  const ArithmeticScope scope(arithmetic);
  return compute();
}

// What the kernels give under the hypothesis is `expected`, and is not what they give without, unless `same`.
template <class Compute>
void check_supposed(const Arithmetic& arithmetic, const std::string& what, const Tensor& expected, Compute compute,
                    bool same = false) {
  const std::string where = what + ": " + to_string(arithmetic);
  check_same_bits(expected, supposing(arithmetic, compute), where);
  if (!same) BOOST_TEST(!conformance::difference(expected, compute()).empty(), where << " has the bits of exact");
}

// An order as chains of elements, and how the chains' sums are added.
struct Plan {
  std::vector<std::vector<std::size_t>> chains;
  bool halves = false, tree = false;
};
Plan plan(const Arithmetic& a, std::size_t count) {
  const auto width = static_cast<std::size_t>(a.width);
  Plan all;
  const std::size_t parts = a.order == Order::pairwise ? count
                            : a.order == Order::lanes  ? width
                            : a.order == Order::blocks ? (count + width - 1) / width
                            : a.order == Order::parts  ? width
                                                       : 1;
  all.chains.resize(parts);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t length = (count + parts - 1) / parts;
    all.chains[a.order == Order::lanes    ? k % parts
               : a.order == Order::blocks ? k / width
                                          : k / length]
        .push_back(a.order == Order::reversed ? count - 1 - k : k);
  }
  all.halves = a.order == Order::pairwise;
  all.tree = a.order == Order::lanes;
  return all;
}

template <class T>
T by_halves(const std::vector<T>& sums, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return sums[begin];
  const std::size_t middle = (begin + end) / 2;
  return by_halves(sums, begin, middle) + by_halves(sums, middle, end);
}

// add(sum, k) is the sum after element k.
template <class T, class Add>
T summed(const Plan& plan, Add add) {
  std::vector<T> sums;
  for (const auto& chain : plan.chains) {
    T sum = 0;
    for (std::size_t k : chain) sum = add(sum, k);
    sums.push_back(sum);
  }
  if (plan.halves) return by_halves(sums, 0, sums.size());
  if (plan.tree)
    for (std::size_t w = sums.size() / 2; w > 0; w /= 2)
      for (std::size_t l = 0; l < w; ++l) sums[l] += sums[l + w];
  else
    for (std::size_t i = 1; i < sums.size(); ++i) sums[0] += sums[i];
  return sums[0];
}
float sum_of(const Arithmetic& a, const Row& x) {
  const Plan order = plan(a, x.size());
  if (a.wide) return static_cast<float>(summed<double>(order, [&](double sum, std::size_t k) { return sum + x[k]; }));
  return summed<float>(order, [&](float sum, std::size_t k) { return sum + x[k]; });
}
float dot_of(const Arithmetic& a, const Row& x, const Row& y) {
  const Plan order = plan(a, x.size());
  if (a.wide)
    return static_cast<float>(summed<double>(
        order, [&](double sum, std::size_t k) { return sum + static_cast<double>(x[k]) * static_cast<double>(y[k]); }));
  return summed<float>(order, [&](float sum, std::size_t k) {
    const float product = x[k] * y[k];
    return a.fused ? std::fma(x[k], y[k], sum) : sum + product;
  });
}

std::vector<Arithmetic> all_orders() {
  std::vector<Arithmetic> all;
  for (Order order : {Order::serial, Order::reversed, Order::pairwise}) all.push_back({.order = order});
  for (int width : {1, 2, 4, 8, 16, 32, 64, 256}) all.push_back({.order = Order::lanes, .width = width});
  for (int width : {64, 128, 256, 1024}) all.push_back({.order = Order::blocks, .width = width});
  for (int width : {2, 3, 4}) all.push_back({.order = Order::parts, .width = width});
  return all;
}

Row column_of(const Tensor& x, std::int64_t column) { return values_of(copy(x.slice(1, column, column + 1))); }
Row row_of(const Tensor& x, std::int64_t row) { return values_of(copy(x.slice(0, row, row + 1))); }

// a·b, row by row and column by column.
template <class Dot>
Tensor product_of(const Tensor& a, const Tensor& b, Dot dot) {
  Row all;
  for (std::int64_t i = 0; i < a.shape()[0]; ++i)
    for (std::int64_t j = 0; j < b.shape()[1]; ++j) all.push_back(dot(row_of(a, i), column_of(b, j)));
  return Tensor::from(all, {a.shape()[0], b.shape()[1]}, cpu);
}

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_hypothesis_with_nothing_switched_has_the_bits_of_exact) {
  for (const BatchOperation& operation : batch_operations(cpu))
    check_same_bits(outcome(operation, operation.inputs),
                    supposing({}, [&] { return outcome(operation, operation.inputs); }), operation.name);
}

BOOST_AUTO_TEST_CASE(a_hypothesis_holds_on_the_cpu_alone_and_as_long_as_its_scope) {
  const Tensor x = drawn({700, 3}, 1), on_simulated = x.to(simulated);
  const auto on_cpu = [&] { return sum(x, {0}); };
  const Tensor exact = on_cpu(), reversed = supposing({.order = Order::reversed}, on_cpu);
  BOOST_TEST(!conformance::difference(exact, reversed).empty());
  BOOST_TEST(arithmetic() == nullptr);
  const ArithmeticScope outer({.order = Order::reversed});
  check_same_bits(exact, sum(on_simulated, {0}), "simulated");
  {
    const ArithmeticScope inner({});
    check_same_bits(exact, on_cpu(), "the inner scope");
  }
  check_same_bits(reversed, on_cpu(), "the outer scope again");
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_order_gives_products_the_bits_of_plain_loops_in_that_order) {
  const Tensor a = drawn({3, 1300}, 1), b = drawn({1300, 5}, 2), weight = copy(b.transpose(0, 1)), bias = drawn({5}, 3);
  std::vector<Arithmetic> all{{.fused = false}, {.wide = true}};
  for (Arithmetic order : all_orders())
    for (bool fused : {true, false}) {
      order.fused = fused;
      all.push_back(order);
    }
  all.push_back({.order = Order::lanes, .width = 8, .wide = true});
  for (const Arithmetic& order : all) {
    // With nothing else switched, exact's own blocks.
    const Arithmetic plain = order.order == Order::exact && !order.wide
                                 ? Arithmetic{.order = Order::blocks, .width = 512, .fused = order.fused}
                                 : order;
    const Tensor expected =
        product_of(a, b, [&](const Row& row, const Row& column) { return dot_of(plain, row, column); });
    check_supposed(order, "matmul", expected, [&] { return matmul(a, b); });
    const Row biases = values_of(bias), products = values_of(expected);
    Row activated;
    for (std::size_t i = 0; i < products.size(); ++i) {
      const float biased = products[i] + biases[i % 5];
      activated.push_back(biased > 0 ? biased : 0);
    }
    check_supposed(order, "linear", Tensor::from(activated, {3, 5}, cpu),
                   [&] { return linear(a, weight, bias, true); });
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_order_gives_sums_the_bits_of_plain_loops_in_that_order) {
  const Tensor x = drawn({3, 5000}, 1), down = copy(x.transpose(0, 1)), target = drawn({3, 5000}, 2);
  std::vector<Arithmetic> all = all_orders();
  all.push_back({.wide = true});
  for (const Arithmetic& order : all) {
    Row expected, shares;
    for (std::int64_t i = 0; i < 3; ++i) {
      expected.push_back(sum_of(order, row_of(x, i)));
      Row row = row_of(x, i);
      const float most = *std::max_element(row.begin(), row.end());
      for (float& value : row) value = numerics::exp(value - most);
      const float total = sum_of(order, row);
      for (float value : row) shares.push_back(value / total);
    }
    check_supposed(order, "sum along rows", Tensor::from(expected, {3}, cpu), [&] { return sum(x, {1}); });
    check_supposed(order, "sum down columns", Tensor::from(expected, {3}, cpu), [&] { return sum(down, {0}); });
    check_supposed(
        order, "softmax", Tensor::from(shares, {3, 5000}, cpu), [&] { return softmax(x); }, true);
    Row differences = values_of(subtract(x, target));
    const Tensor error = Tensor::from(Row{dot_of(order, differences, differences)}, {}, cpu);
    check_supposed(
        order, "squared error", divide(error, Tensor::full({}, 15000, cpu)),
        [&] { return mean_squared_error(Variable(x), Variable(target)).value(); }, true);
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_order_gives_a_tables_gradient_the_bits_of_plain_loops_in_that_order) {
  std::vector<std::int32_t> names;
  for (int i = 0; i < 900; ++i) names.push_back(i % 3 == 0 ? 2 : i % 7 == 0 ? 0 : 4);  // rows 1 and 3 are not named
  const Tensor upstream = drawn({900, 4}, 1), ids = Tensor::from(names, {900}, cpu);
  for (const Arithmetic& order : all_orders()) {
    Row expected;
    for (int row = 0; row < 5; ++row)
      for (std::int64_t column = 0; column < 4; ++column) {
        const Row all = column_of(upstream, column);
        Row own;
        for (std::size_t i = 0; i < all.size(); ++i)
          if (names[i] == row) own.push_back(all[i]);
        expected.push_back(own.empty() ? 0 : sum_of(order, own));
      }
    const bool same = order.order == Order::serial || (order.order == Order::lanes && order.width == 1) ||
                      (order.order == Order::blocks && order.width == 1024);
    check_supposed(
        order, "embedding", Tensor::from(expected, {5, 4}, cpu), [&] { return embedding_gradient(ids, upstream, 5); },
        same);
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_order_gives_layer_norm_the_bits_of_plain_loops_in_that_order) {
  const Tensor x = drawn({900, 5}, 1), u = drawn({900, 5}, 2), ones = Tensor::full({5}, 1, cpu),
               wide = drawn({3, 999}, 3), scale = Tensor::full({999}, 1, cpu),
               statistics = layer_norm(x, ones, ones, 1e-5).statistics;
  const Row by_row = values_of(statistics);
  for (const Arithmetic& order : all_orders()) {
    Row sums, means;
    for (std::int64_t column = 0; column < 5; ++column) {
      Row n = column_of(x, column);
      for (std::size_t i = 0; i < n.size(); ++i) n[i] = (n[i] - by_row[i]) * by_row[900 + i];
      sums.push_back(dot_of(order, column_of(u, column), n));
    }
    check_supposed(order, "gradient by scale", Tensor::from(sums, {5}, cpu),
                   [&] { return layer_norm_scale_gradient(x, statistics, u); });
    for (std::int64_t row = 0; row < 3; ++row) means.push_back(sum_of(order, row_of(wide, row)) / 999);
    check_supposed(
        order, "mean", Tensor::from(means, {3}, cpu),
        [&] { return copy(layer_norm(wide, scale, scale, 1e-5).statistics.slice(0, 0, 1)).reshape({3}); }, true);
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_order_gives_attention_the_bits_of_plain_loops_in_that_order) {
  // One query, its own key the last of 700; with zeros as keys all weights are 1.
  const Tensor q = drawn({1, 1, 700}, 1), other = drawn({1, 1, 700}, 2), keys = drawn({1, 700, 1}, 3, -3, 0),
               one = Tensor::full({1, 1, 1}, 1, cpu), zeros = Tensor::zeros({1, 700, 4}, cpu),
               values = drawn({1, 700, 4}, 4), none = zeros.slice(1, 0, 1),
               first = Tensor::from(Row{1, 0, 0, 0}, {1, 1, 4}, cpu);
  const AttentionResult uniform{none, Tensor::zeros({1, 1, 1}, cpu), Tensor::full({1, 1, 1}, 1, cpu), {}};
  Row exponentials = values_of(keys);
  const float most = *std::max_element(exponentials.begin(), exponentials.end());
  for (float& value : exponentials) value = numerics::exp(value - most);
  const Tensor of_first = copy(first.expand({1, 700, 4}));
  const auto scale = static_cast<float>(1 / std::sqrt(700.0));
  const Row ones(700, 1);
  for (const Arithmetic& order : all_orders()) {
    const Tensor score = Tensor::from(Row{dot_of(order, values_of(q), values_of(other)) * scale}, {1, 1, 1}, cpu);
    check_supposed(
        order, "score", score, [&] { return attention(q, other, other, {}, {}).most; }, true);
    const Tensor denominator = Tensor::from(Row{sum_of(order, exponentials)}, {1, 1, 1}, cpu);
    check_supposed(
        order, "denominator", denominator, [&] { return attention(one, keys, keys, {}, {}).sum; }, true);
    Row output, by_q;
    for (std::int64_t column = 0; column < 4; ++column) {
      const float sum = dot_of(order, ones, column_of(values.reshape({700, 4}), column));
      output.push_back(sum / 700);
      by_q.push_back(sum * 0.5f);
    }
    check_supposed(
        order, "output", Tensor::from(output, {1, 1, 4}, cpu),
        [&] { return attention(none, zeros, values, {}, {}).output; }, true);
    check_supposed(
        order, "gradient by q", Tensor::from(by_q, {1, 1, 4}, cpu),
        [&] { return attention_gradient(none, values, of_first, {}, {}, uniform, first)[0]; }, true);
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_operands_rounds_those_of_products_and_nothing_else) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Row x = values_of(drawn({200}, 1, -70000, 70000));
  for (float tie : {2049.0f, 2051.0f, -2049.0f, 257.0f, 259.0f, 0x1.ffffffp+100f, infinity, -infinity, std::nanf("")})
    x.push_back(tie);
  const auto count = static_cast<std::int64_t>(x.size());
  const Tensor column = Tensor::from(x, {count, 1}, cpu), one = Tensor::full({1, 1}, 1, cpu);
  struct Case {
    Operands operands;
    int bits;
    float (*whole)(float);
  };
  const Case cases[] = {{Operands::tf32, 11, [](float v) { return std::nearbyint(v); }},
                        {Operands::tf32_away, 11, [](float v) { return std::round(v); }},
                        {Operands::tf32_truncated, 11, [](float v) { return std::trunc(v); }},
                        {Operands::bf16, 8, [](float v) { return std::nearbyint(v); }}};
  for (const Case& c : cases) {
    const auto rounded = [&](float v) {
      if (!std::isfinite(v)) return v;
      int exponent;
      std::frexp(v, &exponent);
      return std::ldexp(c.whole(std::ldexp(v, c.bits - exponent)), exponent - c.bits);
    };
    const Arithmetic arithmetic{.operands = c.operands};
    check_supposed(arithmetic, "left operand", each(rounded, column), [&] { return matmul(column, one); });
    const Tensor row = copy(column.transpose(0, 1));
    check_supposed(arithmetic, "right operand", each(rounded, row), [&] { return matmul(one, row); });
    check_supposed(
        arithmetic, "multiply", multiply(column, one), [&] { return multiply(column, one); }, true);
  }
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_functions_gives_those_of_libm) {
  const Tensor x = drawn({40000}, 1, -6, 6), positive = drawn({40000}, 2, 0, 9), g = drawn({40000}, 3);
  const Arithmetic libm{.libm = true};
  const auto gelu_of = [](float v) { return 0.5f * v * (1.0f + std::erf(v * 0x1.6a09e6p-1f)); };
  const auto gelu_slope = [](float v, float up) {
    const float density = 0x1.988454p-2f * std::exp(-0.5f * (v * v));
    return up * (0.5f * (1.0f + std::erf(v * 0x1.6a09e6p-1f)) + v * density);
  };
  check_supposed(
      libm, "exp", each([](float v) { return std::exp(v); }, x), [&] { return exp(x); }, true);
  check_supposed(
      libm, "log", each([](float v) { return std::log(v); }, positive), [&] { return log(positive); }, true);
  check_supposed(libm, "tanh", each([](float v) { return std::tanh(v); }, x), [&] { return tanh(x); });
  check_supposed(libm, "sigmoid", each([](float v) { return 1 / (1 + std::exp(-v)); }, x), [&] { return sigmoid(x); });
  check_supposed(libm, "gelu", each(gelu_of, x), [&] { return gelu(x).y; });
  check_supposed(libm, "gradient of gelu", each(gelu_slope, x, g), [&] { return gelu_gradient(x, gelu(x).below, g); });
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_contraction_fuses_where_a_product_is_added_plainly) {
  const Arithmetic contracted{.contracted = true};
  if (!__builtin_cpu_supports("fma")) {
    check_refused([&] { ArithmeticScope scope(contracted); }, "NUM-2", "fma");
    return;
  }
  const Shape shape{400};
  const Tensor w = drawn(shape, 1), m = drawn(shape, 2), v = drawn(shape, 3, 0, 1), g = drawn(shape, 4);
  const Record go(cpu, 1);
  write_slots(go.all(), {1});
  const SgdScalars sgd_scalars = rounded(SgdStep{0.013, 0.9, 0.01, true});
  const auto sgd_step = [&] {
    Tensor weight = copy(w), velocity = copy(m);
    ASSAY_KERNEL(sgd)
    (cpu, weight.write_view<float>(), velocity.write_view<float>(), operand(g), sgd_scalars,
     operand(As<std::uint64_t>{go.all()}));
    return weight;
  };
  const auto sgd_formula = [&](float weight, float velocity, float gradient) {
    const SgdScalars& s = sgd_scalars;
    gradient = std::fma(s.decay, weight, gradient);
    velocity = std::fma(s.momentum, velocity, gradient);
    return std::fma(-s.rate, std::fma(s.momentum, velocity, gradient), weight);
  };
  check_supposed(contracted, "sgd", each(sgd_formula, w, m, g), sgd_step);

  const AdamScalars s = rounded(AdamStep{1e-2, 0.9, 0.999, 1e-8, 0.01, true, 3});
  const auto adam_step = [&] {
    Tensor weight = copy(w), first = copy(m), second = copy(v);
    ASSAY_KERNEL(adam)
    (cpu, weight.write_view<float>(), first.write_view<float>(), second.write_view<float>(), operand(g), s,
     operand(As<std::uint64_t>{go.all()}));
    return weight;
  };
  // Which of the two products whose difference is the weight is fused, is the compiler's choice.
  const auto adam_formula = [&](bool kept_is_fused) {
    const auto formula = [&](float weight, float first, float second, float gradient) {
      first = std::fma(s.beta1, first, s.rest1 * gradient);
      second = std::fma(s.beta2, second, s.rest2 * gradient * gradient);
      const float direction = first / std::fma(std::sqrt(second), s.scale, s.epsilon);
      const float kept = weight * s.keep, share = s.rate * direction;
      return kept_is_fused ? std::fma(weight, s.keep, -share) : std::fma(-s.rate, direction, kept);
    };
    return each(formula, w, m, v, g);
  };
  const Tensor found = supposing(contracted, adam_step);
  const bool kept_is_fused = conformance::difference(adam_formula(true), found).empty();
  check_supposed(contracted, "adam", adam_formula(kept_is_fused), adam_step);
  check_supposed(contracted, "gradient of tanh",
                 each([](float y, float up) { return up * std::fma(-y, y, 1.0f); }, w, g),
                 [&] { return tanh_gradient(w, g); });
}

BOOST_AUTO_TEST_CASE(a_hypothesis_about_subnormals_makes_operands_and_results_zeros_on_every_thread) {
  const Shape shape{300, 200};  // enough for several threads
  const Tensor a = with_subnormals(shape, 1, -2, 2, cpu), b = scale(drawn(shape, 2), 0x1p-125f);
  const Arithmetic flush{.flush = true};
  const unsigned before = _mm_getcsr() & 0xffc0;
  const auto formula = [&](auto f) {
    return each([f](float x, float y) { return flushed(f(flushed(x), flushed(y))); }, a, b);
  };
  set_threads(3);
  check_supposed(flush, "add", formula([](float x, float y) { return x + y; }), [&] { return add(a, b); });
  check_supposed(flush, "multiply", formula([](float x, float y) { return x * y; }), [&] { return multiply(a, b); });
  check_supposed(flush, "relu", formula([](float x, float) { return x > 0 ? x : 0; }), [&] { return relu(a); });
  const Tensor few = rows_from(a, 0, 20), others = b.transpose(0, 1).slice(1, 0, 9);
  const auto chain = [](const Row& x, const Row& y) {
    float sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum = flushed(std::fma(flushed(x[k]), flushed(y[k]), sum));
    return sum;
  };
  check_supposed(flush, "matmul", product_of(few, others, chain), [&] { return matmul(few, others); });
  set_threads(1);
  BOOST_TEST((_mm_getcsr() & 0xffc0) == before);
}

BOOST_AUTO_TEST_CASE(a_hypothesis_says_in_words_what_it_switches_and_refuses_widths_that_its_order_lacks) {
  const std::pair<Arithmetic, const char*> cases[] = {
      {{}, "as exact"},
      {{.order = Order::serial}, "sums in one ascending chain"},
      {{.order = Order::reversed}, "sums in one descending chain"},
      {{.order = Order::pairwise}, "sums by halves"},
      {{.order = Order::lanes, .width = 8}, "sums in 8 lanes"},
      {{.order = Order::blocks, .width = 64}, "sums in blocks of 64"},
      {{.order = Order::parts, .width = 4, .fused = false}, "sums in 4 parts, multiply-adds rounded twice"},
      {{.wide = true, .contracted = true}, "sums in binary64, contraction on"},
      {{.operands = Operands::tf32}, "operands of matrix products rounded to TF32"},
      {{.operands = Operands::tf32_away}, "operands of matrix products rounded to TF32, ties away from zero"},
      {{.operands = Operands::tf32_truncated}, "operands of matrix products truncated to TF32"},
      {{.operands = Operands::bf16}, "operands of matrix products rounded to bfloat16"},
      {{.flush = true, .libm = true}, "subnormals flushed to zero, functions of libm"}};
  for (const auto& [arithmetic, words] : cases) BOOST_TEST(to_string(arithmetic) == words);
  for (const Arithmetic& wrong : std::vector<Arithmetic>{{.order = Order::lanes, .width = 12},
                                                         {.order = Order::lanes, .width = 512},
                                                         {.order = Order::blocks},
                                                         {.order = Order::parts, .width = -1}})
    check_refused([&] { ArithmeticScope scope(wrong); }, "RUN-1", std::to_string(wrong.width));
  BOOST_TEST(arithmetic() == nullptr);
}

}  // namespace assay::kernels
