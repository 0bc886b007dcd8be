// Operations, a module and an optimiser of a user's own, each checked against the contracts with Boost.Test.
#define BOOST_TEST_MODULE example
#include <boost/test/unit_test.hpp>

#include "conformance/module.hpp"
#include "conformance/operation.hpp"
#include "conformance/optimiser.hpp"
#include "conformance/tensors.hpp"
#include "gated_linear.hpp"
#include "rms_norm.hpp"
#include "rmsprop.hpp"

using namespace assay;
using namespace assay::conformance;
using namespace example;

BOOST_AUTO_TEST_CASE(gate_keeps_the_contracts) {
  for (const Verdict& verdict : check_operation({.name = "gate",
                                .compute = [](const auto& x) { return gate(x[0], x[1]); },
                                .inputs = {drawn({4, 3}, 1), drawn({4, 3}, 2)},
                                .batched = {0, 1}}))
    BOOST_TEST(verdict.holds, text_of(verdict));
}

BOOST_AUTO_TEST_CASE(rms_norm_keeps_the_contracts) {
  for (const Verdict& verdict : check_operation({.name = "rms_norm",
                                .compute = [](const auto& x) { return rms_norm(x[0]); },
                                .inputs = {drawn({3, 70}, 1)},
                                .batched = {0}}))
    BOOST_TEST(verdict.holds, text_of(verdict));
}

BOOST_AUTO_TEST_CASE(gated_linear_keeps_the_contracts) {
  for (const Verdict& verdict : check_module<GatedLinear>({.name = "gated_linear",
                                .make = [](const Random&random) { return std::make_shared<GatedLinear>(3, 4, random); },
                                .forward = [](const GatedLinear&model, const auto&x) { return model.forward(x[0]); },
                                .inputs = {drawn({5, 3}, 1)},
                                .batched = {0}}))
    BOOST_TEST(verdict.holds, text_of(verdict));
}

BOOST_AUTO_TEST_CASE(rmsprop_keeps_the_contracts) {
  for (const Verdict& verdict :
       check_optimiser({.name = "rmsprop", .make = [](ParameterList list) { return std::make_unique<RmsProp>(list); }}))
    BOOST_TEST(verdict.holds, text_of(verdict));
}
