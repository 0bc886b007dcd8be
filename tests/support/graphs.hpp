// Small graphs for tests: leaves, their gradients, and what a refused pass must leave alone.
#pragma once

#include <vector>

#include "autograd/variable.hpp"
#include "support/tensors.hpp"

namespace assay::test {

using Values = std::vector<float>;

inline Variable leaf(const Values& values, Device device) {
  return Variable::leaf(Tensor::from(values, {static_cast<std::int64_t>(values.size())}, device));
}

inline Values values_of(const Tensor& tensor) {
  auto values = tensor.read<float>();
  return {values.begin(), values.end()};
}

inline Values gradient_of(const Variable& variable) { return values_of(variable.gradient()); }

/// Passes the first input's value on; the gradient is what `rule` makes of the upstream one, for each of the inputs.
inline Variable passing(const std::vector<Variable>& inputs, Vjp rule) {
  return custom_gradient("passing", inputs[0].value(), inputs, std::move(rule));
}
inline Variable passing(const Variable& input) {
  return passing({input}, [](const Tensor& upstream, const auto&) { return std::vector{upstream}; });
}

/// Makes a call that must fail, and checks that no leaf has changed.
template <class Call>
void check_atomic(Call&& call, const std::vector<Variable>& leaves) {
  struct Before {
    Values value, gradient;
    bool pending;
    std::uint64_t version;
  };
  std::vector<Before> before;
  for (const Variable& x : leaves)
    before.push_back({values_of(x.value()), gradient_of(x), x.has_pending_gradient(), x.value().version()});
  call();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    BOOST_TEST(values_of(leaves[i].value()) == before[i].value);
    BOOST_TEST(gradient_of(leaves[i]) == before[i].gradient);
    BOOST_TEST(leaves[i].has_pending_gradient() == before[i].pending);
    BOOST_TEST(leaves[i].value().version() == before[i].version);
  }
}

}  // namespace assay::test
