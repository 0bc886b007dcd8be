// check_optimiser: what every optimiser promises, checked for one of the caller's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/verdict.hpp"
#include "optim/optimiser.hpp"

namespace assay::conformance {

/// How an optimiser is made, always with the same settings.
struct OptimiserCase {
  std::string name;
  std::function<std::unique_ptr<Optimiser>(ParameterList)> make;
  double learning_rate = 0.01;
};

/// Checks on every device, on a few small parameters with drawn gradients: OPT-1 to OPT-5, OPT-7, OPT-10, OPT-11,
/// ACC-5, XFER-9, RES-6, RES-10, NUM-1, NUM-4, NUM-8. Throws nothing.
///
///     auto verdicts = check_optimiser({.name = "sgd",
///                                      .make = [](ParameterList list) { return std::make_unique<Sgd>(list); }});
std::vector<Verdict> check_optimiser(const OptimiserCase& subject);

}  // namespace assay::conformance
