// check_module: what every module promises, checked for one of the caller's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/gradcheck.hpp"
#include "conformance/verdict.hpp"
#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay::conformance {

/// How a module of type M is made, and what to call it with.
template <class M>
struct ModuleCase {
  std::string name;
  /// A new one on the cpu, its initial values and random numbers drawn from streams of `random` only.
  std::function<std::shared_ptr<M>(const Random& random)> make;
  /// Computes on whatever device module and inputs are on, `reference` included.
  std::function<Variable(M&, const std::vector<Variable>&)> forward;
  /// On the cpu, small, of distinct extents, away from kinks. Those of real numbers are differentiated by.
  std::vector<Tensor> inputs;
  /// Inputs whose first axis counts examples that do not meet: row i of the result depends on row i of them only.
  std::vector<std::size_t> batched = {};
  /// Elements whose gradient is zero by algebra; leaves are the parameters in order, then the inputs of real numbers.
  std::vector<ZeroGradient> zeros = {};
};

std::vector<Verdict> check_module(const ModuleCase<Module>& subject);

/// Checks on every device: ORD-2, ORD-3, ORD-5, REG-10, REG-15, LIFE-9, LIFE-11, XFER-1, XFER-2, XFER-5, GRAPH-3,
/// GRAPH-5, GRAPH-12, MODE-1, MODE-2, RES-8, RES-10, NUM-1, NUM-5, NUM-8, FILE-1, CHECK-1, and NUM-3 where inputs are
/// batched. Throws nothing. FILE-1 writes one file in a temporary folder that is gone afterwards.
///
///     auto verdicts = check_module<Linear>({.name = "linear",
///                                           .make = [](const Random& r) { return std::make_shared<Linear>(4, 3, r); },
///                                           .forward = [](Linear& l, const auto& x) { return l.forward(x[0]); },
///                                           .inputs = {drawn({5, 4}, 1)},
///                                           .batched = {0}});
template <class M>
std::vector<Verdict> check_module(const ModuleCase<M>& subject) {
  return check_module(ModuleCase<Module>{subject.name, subject.make,
                                         [forward = subject.forward](Module& module, const auto& inputs) {
                                           return forward(static_cast<M&>(module), inputs);
                                         },
                                         subject.inputs, subject.batched, subject.zeros});
}

}  // namespace assay::conformance
