// A documented formula, said again as a scalar function, for comparison bit by bit.
#pragma once

#include "tensor/tensor.hpp"

namespace assay::test {

/// The tensor of f(x₀[i], x₁[i], …), in the shape of the first operand.
template <class F, class... Rest>
Tensor each(F f, const Tensor& first, const Rest&... rest) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < first.size(); ++i)
    values.push_back(f(first.read<float>()[i], rest.template read<float>()[i]...));
  return Tensor::from(values, first.shape());
}

/// The tensor of rows f(x₀'s row, x₁'s row, …), each operand [B, F]; f takes and returns std::vector<float>.
template <class F, class... Operand>
Tensor each_row(F f, const Tensor& first, const Operand&... rest) {
  std::vector<float> values;
  auto row_of = [](const Tensor& x, std::int64_t row) {
    auto all = x.read<float>();
    return std::vector<float>(all.begin() + row * x.shape()[-1], all.begin() + (row + 1) * x.shape()[-1]);
  };
  for (std::int64_t row = 0; row < first.shape()[0]; ++row)
    for (float value : f(row_of(first, row), row_of(rest, row)...)) values.push_back(value);
  return Tensor::from(values, first.shape());
}

}  // namespace assay::test
