// The profile fast: it is near the oracle, it is what it says (Eigen, libm), and it ends with its scope.
#include "device/profile.hpp"

#include <array>
#include <cmath>
#include <tuple>

#include "autograd/ops.hpp"
#include "device/cpu/isa.hpp"
#include "kernels/digest.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// The operation's value and gradients under fast, on 1 and 3 threads and through strided views, beside the oracle's.
void check_fast(const std::string& name, const Operation& operation, const std::vector<Tensor>& inputs,
                double ulps = 4) {
  ProfileScope fast(Profile::fast);
  std::vector<Tensor> wide, views;
  for (const Tensor& input : inputs) {
    wide.push_back(input.to(reference_device));
    views.push_back(strided(input));
  }
  Outcome oracle = outcome(operation, wide);
  for (int count : {1, 3}) {
    set_threads(count);
    for (const auto& [kind, operands] : {std::pair{" contiguous", inputs}, std::pair{" strided", views}}) {
      Outcome found = outcome(operation, operands);
      check_close_to_oracle(oracle.value, found.value, ulps, name + kind + ", value");
      for (std::size_t i = 0; i < inputs.size(); ++i)
        check_close_to_oracle(oracle.gradients[i], found.gradients[i], ulps,
                              name + kind + ", gradient " + std::to_string(i));
    }
  }
  set_threads(1);
}

/// Each element within so many ULP of the oracle's, rounded.
void check_ulps(const std::string& name, const Operation& operation, const Tensor& x, std::uint64_t ulps) {
  ProfileScope fast(Profile::fast);
  std::vector<double> oracle = doubles(operation({Variable(x.to(reference_device))}).value());
  auto found = operation({Variable(x)}).value().read<float>();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    auto expected = static_cast<float>(oracle[static_cast<std::size_t>(i)]);
    BOOST_REQUIRE_MESSAGE(ulp_distance(expected, found[i]) <= ulps,
                          name << " of " << x.read<float>()[i] << ": the oracle has " << expected << ", found "
                               << found[i] << ", " << ulp_distance(expected, found[i]) << " ULP apart");
  }
}

const Operation exp_of = [](const auto&in) { return exp(in[0]); }, log_of = [](const auto&in) { return log(in[0]); },
                tanh_of = [](const auto&in) { return tanh(in[0]); },
                sigmoid_of = [](const auto&in) { return sigmoid(in[0]); },
                gelu_of = [](const auto&in) { return gelu(in[0]); };

float libm_sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float libm_gelu(float x) { return (0.5f * x) * (1.0f + std::erf(x * 0x1.6a09e6p-1f)); }

using Multiply = void(View<const float>, View<const float>, kernels::Epilogue, View<float>);

/// Each element of a·b in binary64, and how far a sum in binary32 may be from it.
struct Product {
  std::vector<double> sums, allowed;
};
Product product(View<const float> a, View<const float> b) {
  Product all;
  std::int64_t depth = a.extent[1];
  // Equal terms may be rounded the same way each time; others by and large are not.
  auto ulps = static_cast<double>(a.stride[1] == 0 && b.stride[0] == 0 ? depth : 4);
  for (std::int64_t row = 0; row < a.extent[0]; ++row)
    for (std::int64_t column = 0; column < b.extent[1]; ++column) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        double x = a.data[row * a.stride[0] + k * a.stride[1]], y = b.data[k * b.stride[0] + column * b.stride[1]];
        sum += x * y;
        size += std::fabs(x * y);
      }
      all.sums.push_back(sum);
      all.allowed.push_back(ulps * 0x1p-23 * size);
    }
  return all;
}

/// The product within something wider, which has to stay as it was.
void check_product(const Product& expected, View<const float> a, View<const float> b, Multiply* multiply,
                   const std::string& what) {
  std::int64_t rows = a.extent[0], columns = b.extent[1];
  Tensor room = Tensor::full({rows, columns + 2}, 777);
  multiply(a, b, {}, room.slice(1, 0, columns).write_view<float>());
  auto found = room.read<float>();
  BOOST_TEST(found.size() == rows * (columns + 2));
  for (std::int64_t i = 0; i < found.size(); ++i) {
    std::int64_t row = i / (columns + 2), column = i % (columns + 2);
    auto at = static_cast<std::size_t>(row * columns + column);
    double sum = column < columns ? expected.sums[at] : 777, allowed = column < columns ? expected.allowed[at] : 0;
    if (std::fabs(found[i] - sum) <= allowed) continue;
    BOOST_FAIL(what << ", [" << rows << ", " << a.extent[1] << "] with strides " << a.stride[0] << ", " << a.stride[1]
                    << " by [" << b.extent[0] << ", " << columns << "] with strides " << b.stride[0] << ", "
                    << b.stride[1] << ": element [" << row << ", " << column << "]: expected " << sum << ", found "
                    << found[i] << ", allowed difference " << allowed);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fast_profile)

BOOST_AUTO_TEST_CASE(elementary_functions_are_a_handful_of_ULP_from_the_oracle) {
  check_ulps("exp", exp_of, drawn({20000}, 1, -80, 80), 2);
  check_ulps("log", log_of, drawn({20000}, 2, 1e-6, 20), 2);
  check_ulps("tanh", tanh_of, drawn({20000}, 3, -10, 10), 3);
  check_ulps("sigmoid", sigmoid_of, drawn({20000}, 4, -80, 80), 4);
}

BOOST_AUTO_TEST_CASE(every_operation_that_has_a_fast_form_is_near_the_oracle_forward_and_backward) {
  check_fast("exp", exp_of, {drawn({37, 41}, 1, -2, 2)});
  check_fast("log", log_of, {drawn({37, 41}, 2, 0.5, 3)});
  check_fast("tanh", tanh_of, {drawn({37, 41}, 3, -2, 2)});
  check_fast("sigmoid", sigmoid_of, {drawn({37, 41}, 4, -2, 2)});
  check_fast("gelu", gelu_of, {drawn({37, 41}, 5, -2, 2)});
  check_fast(
      "softmax", [](const auto& in) { return softmax(in[0]); }, {drawn({37, 41}, 6, -2, 2)}, 8);
  check_fast(
      "log_softmax", [](const auto& in) { return log_softmax(in[0]); }, {drawn({37, 41}, 7, -2, 2)}, 8);
  std::vector<std::int32_t> labels(37);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 9 == 4 ? -100 : static_cast<std::int32_t>(i % 41);
  check_fast(
      "cross entropy",
      [&](const auto& in) {
        return cross_entropy(in[0], Tensor::from(labels, {37}, in[0].device()), {.label_smoothing = 0.1});
      },
      {drawn({37, 41}, 8, -2, 2)}, 8);
  check_fast(
      "matmul", [](const auto& in) { return matmul(in[0], in[1]); }, {drawn({130, 300}, 9), drawn({300, 70}, 10)}, 32);
}

BOOST_AUTO_TEST_CASE(the_elementary_functions_are_those_of_libm) {
  Tensor x = drawn({5000}, 1, -9, 9), positive = drawn({5000}, 2, 0, 100);
  Tensor exact = sigmoid(x).value();
  ProfileScope fast(Profile::fast);
  check_same_bits(each([](float at) { return std::exp(at); }, x), exp(x).value(), "exp");
  check_same_bits(each([](float at) { return std::log(at); }, positive), log(positive).value(), "log");
  check_same_bits(each([](float at) { return std::tanh(at); }, x), tanh(x).value(), "tanh");
  check_same_bits(each(libm_gelu, x), gelu(x).value(), "gelu");
  check_same_bits(each(libm_sigmoid, x), sigmoid(x).value(), "sigmoid");
  // Whatever libm's exp is worth, a quotient of rounded numbers is not always the rounded one.
  BOOST_TEST(kernels::digest(exact) != kernels::digest(sigmoid(x).value()));
}

BOOST_AUTO_TEST_CASE(every_kernel_of_fast_ops_has_builds_of_its_own) {
#define CHECK_OWN(kernel)                                                    \
  BOOST_TEST((kernels::fast_baseline::kernel != kernels::baseline::kernel)); \
  BOOST_TEST((kernels::fast_avx2::kernel != kernels::avx2::kernel));         \
  BOOST_TEST((kernels::fast_avx512::kernel != kernels::avx512::kernel))
  CHECK_OWN(cross_entropy);
  CHECK_OWN(cross_entropy_gradient);
  CHECK_OWN(exp);
  CHECK_OWN(gelu);
  CHECK_OWN(gelu_gradient);
  CHECK_OWN(log);
  CHECK_OWN(log_softmax);
  CHECK_OWN(log_softmax_gradient);
  CHECK_OWN(matmul);
  CHECK_OWN(sigmoid);
  CHECK_OWN(softmax);
  CHECK_OWN(tanh);
#undef CHECK_OWN
}

BOOST_AUTO_TEST_CASE(products_of_any_views_are_near_the_sum_in_binary64_in_every_build) {
  std::vector<std::pair<Isa, Multiply*>> builds{{Isa::baseline, kernels::fast_baseline::matmul}};
  if (isa() != Isa::baseline) builds.emplace_back(Isa::avx2, kernels::fast_avx2::matmul);
  if (isa() == Isa::avx512) builds.emplace_back(Isa::avx512, kernels::fast_avx512::matmul);

  // Row-major, column-major, both within something larger, no unit stride, and one row or column repeated.
  auto strides_of = [](std::int64_t rows, std::int64_t columns) {
    return std::vector<std::array<std::int64_t, 2>>{
        {columns, 1}, {1, rows}, {columns + 3, 1}, {1, rows + 5}, {2 * columns + 1, 2}, {0, 1}, {1, 0}};
  };
  Tensor left = drawn({400000}, 1), right = drawn({400000}, 2);
  struct Extents {
    std::int64_t rows, columns, depth;
  };
  for (Extents e : std::vector<Extents>{{1, 1, 1},
                                        {3, 0, 5},
                                        {0, 4, 5},
                                        {5, 33, 0},
                                        {1, 50, 40},
                                        {50, 1, 40},
                                        {7, 9, 1},
                                        {65, 70, 31},
                                        {70, 37, 515}})
    for (auto [left_row, left_column] : strides_of(e.rows, e.depth))
      for (auto [right_row, right_column] : strides_of(e.depth, e.columns)) {
        View<const float> a{left.view<float>().data, 2, {e.rows, e.depth}, {left_row, left_column}};
        View<const float> b{right.view<float>().data, 2, {e.depth, e.columns}, {right_row, right_column}};
        Product expected = product(a, b);
        for (const auto& [build, multiply] : builds)
          for (int count : {1, 3}) {
            set_threads(count);
            check_product(expected, a, b, multiply, to_string(build) + " on " + std::to_string(count) + " threads");
          }
      }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(matmul_under_fast_is_the_fast_build_of_this_processor) {
  Tensor a = drawn({65, 300}, 1), b = drawn({300, 70}, 2), expected = Tensor::zeros({65, 70});
  auto fast_build = isa() == Isa::avx512 ? kernels::fast_avx512::matmul
                    : isa() == Isa::avx2 ? kernels::fast_avx2::matmul
                                         : kernels::fast_baseline::matmul;
  fast_build(a.view<float>(), b.view<float>(), {}, expected.write_view<float>());
  ProfileScope fast(Profile::fast);
  check_same_bits(expected, matmul(a, b).value(), "matmul");
}

BOOST_AUTO_TEST_CASE(operations_without_a_fast_form_and_the_reference_device_keep_their_bits) {
  Tensor x = drawn({9, 5000}, 1), wide = x.to(reference_device);
  auto digests = [&] {
    return std::tuple{kernels::digest(sum(x, {1}).value()), kernels::digest(relu(x).value()),
                      kernels::digest(exp(wide).value())};
  };
  auto before = digests();
  ProfileScope fast(Profile::fast);
  BOOST_TEST((digests() == before));
}

BOOST_AUTO_TEST_CASE(exact_is_the_default_and_a_scope_ends_with_the_profile_before_it) {
  BOOST_TEST(to_string(profile()) == "exact");
  try {
    ProfileScope fast(Profile::fast);
    BOOST_TEST(to_string(profile()) == "fast");
    {
      ProfileScope exact(Profile::exact);
      BOOST_TEST(to_string(profile()) == "exact");
    }
    BOOST_TEST(to_string(profile()) == "fast");
    matmul(drawn({2, 3}, 1), drawn({4, 2}, 2));
    BOOST_ERROR("shapes that do not match were accepted");
  } catch (const Error&) {
  }
  BOOST_TEST(to_string(profile()) == "exact");
}

BOOST_AUTO_TEST_CASE(RUN_1_a_profile_has_one_of_two_names) {
  for (Profile one : {Profile::exact, Profile::fast}) BOOST_TEST((parse_profile(to_string(one)) == one));
  check_refused([] { parse_profile("quick"); }, "RUN-1", "quick");
}

BOOST_AUTO_TEST_SUITE_END()
