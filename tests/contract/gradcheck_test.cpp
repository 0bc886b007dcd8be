// Contract of gradcheck: that it finds what is wrong, says so when it shows nothing, and leaves no trace.
#include "autograd/gradcheck.hpp"

#include <filesystem>
#include <set>
#include <stdexcept>

#include "autograd/ops.hpp"
#include "harness/gradcheck_cases.hpp"
#include "nn/dropout.hpp"
#include "support/contract.hpp"
#include "support/graphs.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Variable drawn_leaf(const Shape& shape, std::uint64_t seed, Device device) {
  return Variable::leaf(drawn(shape, seed, -1, 1, device));
}

void check_complaint(const GradcheckCase& check, const std::string& fragment) {
  GradcheckResult result = gradcheck(check);
  BOOST_TEST(!result.holds());
  BOOST_TEST(result.complaint.find(fragment) != std::string::npos,
             "\"" << result.complaint << "\" does not contain \"" << fragment << "\"");
}

// x², with a gradient that is wrong by the factor.
Variable square(const Variable& x, double factor) {
  return custom_gradient("square", kernels::multiply(x.value(), x.value()), {x},
                         [x = x.value(), factor](const Tensor& upstream, const auto&) {
                           Tensor twice = Tensor::full({}, 2 * factor, x.device());
                           return std::vector{kernels::multiply(kernels::multiply(upstream, x), twice)};
                         });
}

}  // namespace

CONTRACT(CHECK_1_every_operation_layer_and_loss_has_the_gradients_of_central_differences) {
  for (Device where : {device, reference_device})
    for (const GradcheckCase& one : gradcheck_cases(where)) {
      GradcheckResult result = gradcheck(one);
      BOOST_TEST(result.holds(), result.name << " on " << to_string(where) << ": " << result.complaint);
      BOOST_TEST(result.movement > 0, result.name);
    }
}

BOOST_AUTO_TEST_CASE(CHECK_1_every_operation_has_a_case) {
  std::set<std::string> cases;
  for (const GradcheckCase& one : gradcheck_cases(cpu)) cases.insert(one.name);
  const std::set<std::string> no_operations{"backward", "checkpoint", "gradcheck", "graph",
                                            "ops",      "parameter",  "trace",     "variable"};
  for (const auto& file : std::filesystem::directory_iterator(std::string(ASSAY_SOURCE_ROOT) + "/src/autograd")) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() == ".hpp" && !no_operations.count(name))
      BOOST_TEST(cases.count(name) == 1u, "gradcheck_cases has no case for " << name);
  }
  for (const char* name : {"Linear", "Dropout", "Embedding", "LayerNorm", "FeedForward", "Mlp", "CausalSelfAttention",
                           "TransformerBlock", "DecoderOnlyTransformer", "checkpoint"})
    BOOST_TEST(cases.count(name) == 1u, name);
}

CONTRACT(CHECK_1_the_example_of_the_manual_holds) {
  Variable x = Variable::leaf(Tensor::from<float>({1, 2, 3}, {3}, device));
  GradcheckResult result = gradcheck({"exp", {x}, [x] { return exp(x); }});
  BOOST_TEST(result.holds(), result.complaint);
  BOOST_TEST(result.worst_error < 1e-6);
}

CONTRACT(CHECK_2_a_loss_that_does_not_move_on_the_device_is_inconclusive) {
  Variable x = drawn_leaf({3, 2}, 1, device);
  // The value does not see x where it is computed, though gradient and reference agree.
  Tensor frozen = kernels::multiply(x.value(), x.value());
  auto compute = [=] {
    if (x.device() == reference_device) return square(x, 1);
    return custom_gradient("square", frozen, {x}, [x = x.value(), device](const Tensor& upstream, const auto&) {
      return std::vector{kernels::multiply(kernels::multiply(upstream, x), Tensor::full({}, 2, device))};
    });
  };
  check_complaint({"frozen", {x}, compute}, "leaf 0 element 0: inconclusive, the loss does not move");
}

CONTRACT(CHECK_2_a_gradient_of_zeros_is_inconclusive_unless_it_is_listed_with_its_reason) {
  Variable x = drawn_leaf({3, 2}, 1, device), y = drawn_leaf({3, 2}, 2, device);
  auto compute = [=] { return add(square(x, 1), subtract(y, y)); };
  check_complaint({"cancelled", {x, y}, compute}, "leaf 1: inconclusive, its gradient is zero");
  GradcheckResult listed = gradcheck({"cancelled", {x, y}, compute, {{1, 0, 6, "y cancels"}}});
  BOOST_TEST(listed.holds(), listed.complaint);
  check_complaint({"cancelled", {x, y}, compute, {{1, 0, 6, "y cancels"}, {0, 2, 3, "planted"}}},
                  "leaf 0 element 2: a gradient of zero was expected (planted), found the gradient is");
  // A gradient rule that gives something where differences are zero.
  auto planted = [=] {
    Variable nothing = custom_gradient("nothing", Tensor::zeros({3, 2}, y.device()), {y},
                                       [](const Tensor& upstream, const auto&) { return std::vector{upstream}; });
    return add(square(x, 1), nothing);
  };
  check_complaint({"planted", {x, y}, planted, {{1, 0, 6, "no dependence"}}}, "a gradient of zero was expected");
}

CONTRACT(CHECK_3_values_are_perturbed_through_edit_and_reading_the_old_side_fails) {
  Variable x = drawn_leaf({5}, 1, device);
  std::uint64_t version = x.value().version();
  BOOST_TEST(gradcheck({"square", {x}, [=] { return square(x, 1); }}).holds());
  BOOST_TEST(x.value().version() > version);
  // A copy from before, as a mirror that was not refreshed, read instead of the value on its own device.
  Tensor stale = kernels::copy(x.value());
  auto compute = [=] {
    const Tensor seen = x.device() == device ? stale : x.value();
    return custom_gradient("square", kernels::multiply(seen, seen), {x}, [seen](const Tensor& upstream, const auto&) {
      Tensor twice = Tensor::full({}, 2, seen.device());
      return std::vector{kernels::multiply(kernels::multiply(upstream, seen), twice)};
    });
  };
  check_complaint({"stale", {x}, compute}, "inconclusive, the loss does not move");
}

CONTRACT(CHECK_4_a_wrong_gradient_is_found_naming_leaf_element_and_both_figures) {
  Variable x = drawn_leaf({3, 2}, 1, device), y = drawn_leaf({3, 2}, 2, device);
  check_complaint({"wrong", {x, y}, [=] { return add(x, square(y, 1.001)); }}, "leaf 1 element 0: the gradient is ");
  check_complaint({"wrong", {x, y}, [=] { return add(x, square(y, 1.001)); }}, "central differences give ");
  BOOST_TEST(gradcheck({"right", {x, y}, [=] { return add(x, square(y, 1)); }}).holds());
}

CONTRACT(CHECK_5_a_check_restores_values_gradients_flags_and_streams_also_when_it_throws) {
  Random random(7);
  Dropout dropout(0.5, random["dropout"]);
  auto stream = random.streams()[0];
  Variable x = drawn_leaf({40}, 1, device), y = drawn_leaf({40}, 2, device);
  dropout.forward(x);
  sum(multiply(x, x)).backward();
  Values value = values_of(x.value()), other = values_of(y.value()), gradient = gradient_of(x);
  Variable older = sum(multiply(x, y));
  auto check_restored = [&] {
    BOOST_TEST((x.device() == device && y.device() == device));
    BOOST_TEST(values_of(x.value()) == value);
    BOOST_TEST(values_of(y.value()) == other);
    BOOST_TEST(gradient_of(x) == gradient);
    BOOST_TEST(x.has_pending_gradient());
    BOOST_TEST(!y.has_pending_gradient());
    BOOST_TEST(stream->draws() == 1u);
    check_refused([&] { older.backward(); }, "GRAPH-5", "found version");
  };
  BOOST_TEST(gradcheck({"dropout", {x, y}, [&] { return multiply(dropout.forward(x), y); }}).holds());
  check_restored();
  for (int last : {0, 1, 50, 90, 200}) {
    int runs = 0;
    auto compute = [&] {
      Variable product = multiply(dropout.forward(x), y);
      if (runs++ == last) throw std::runtime_error("on purpose");
      return product;
    };
    BOOST_CHECK_THROW(gradcheck({"throwing", {x, y}, compute}), std::runtime_error);
    BOOST_TEST(runs == last + 1);
    check_restored();
  }
  check_refused([&] { gradcheck({"no leaf", {x, Variable(y.value())}, [&] { return multiply(x, y); }}); }, "GRAPH-7");
  check_restored();
}

CONTRACT(CHECK_6_a_used_an_unused_and_a_twice_used_row_of_an_embedding) {
  Variable table = drawn_leaf({4, 3}, 1, device);
  auto compute = [=] { return embedding(table, Tensor::from<std::int32_t>({2, 0, 2}, {3}, table.device())); };
  GradcheckResult result = gradcheck({"embedding", {table}, compute, {{0, 3, 6, "unused"}, {0, 9, 12, "unused"}}});
  BOOST_TEST(result.holds(), result.complaint);
  check_complaint({"embedding", {table}, compute, {{0, 0, 3, "planted: row 0 is used"}}},
                  "leaf 0 element 0: a gradient of zero was expected");
}

CONTRACT(CHECK_7_figures_do_not_depend_on_where_the_value_is_at_the_moment) {
  std::vector<GradcheckResult> results;
  for (int side : {0, 1, 2}) {
    Variable x = drawn_leaf({3, 5}, 1, device);
    if (side == 1) values_of(x.value());                                     // on both sides
    if (side == 2) kernels::copy_into(kernels::copy(x.value()), x.value());  // written by the device
    results.push_back(gradcheck({"softmax", {x}, [=] { return softmax(x); }}));
  }
  for (const GradcheckResult& one : results) {
    BOOST_TEST(one.holds(), one.complaint);
    BOOST_TEST(ulp_distance(one.worst_error, results[0].worst_error) == 0u);
    BOOST_TEST(ulp_distance(one.movement, results[0].movement) == 0u);
  }
}
