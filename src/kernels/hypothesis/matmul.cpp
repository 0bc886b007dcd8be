// Matrix product under a hypothesis: one sum after the other.
#include "kernels/matmul.hpp"

#include <bit>

#include "kernels/cpu/matmul_parts.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

// x as a matrix unit reads it.
float rounded_operand(float x) {
  using Operands = Arithmetic::Operands;
  const Operands operands = arithmetic()->operands;
  if (operands == Operands::exact || x - x != 0) return x;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), lost = operands == Operands::bf16 ? 16 : 13,
                      half = 1u << (lost - 1), last = bits >> lost & 1;
  const std::uint32_t added = operands == Operands::tf32_truncated ? 0
                              : operands == Operands::tf32_away    ? half
                                                                   : half - 1 + last;
  return std::bit_cast<float>((bits + added) >> lost << lost);
}

}  // namespace

void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c) {
  const std::int64_t rows = c.extent[c.rank - 2], columns = c.extent[c.rank - 1], depth = a.extent[a.rank - 1];
  std::int64_t matrices = 1;
  for (int axis = 0; axis < c.rank - 2; ++axis) matrices *= c.extent[axis];
  for (std::int64_t i = 0; i < matrices * rows * columns; ++i) {
    const std::int64_t column = i % columns, row = i / columns % rows, matrix = i / columns / rows;
    const View<const float> left = part(matrix_at(a, matrix), 0, row, row + 1),
                            right = part(matrix_at(b, matrix), 1, column, column + 1);
    float sum = numerics::chain_dot(
        0, static_cast<std::size_t>(depth),
        [&](std::size_t k) { return rounded_operand(left.data[static_cast<std::int64_t>(k) * left.stride[1]]); },
        [&](std::size_t k) { return rounded_operand(right.data[static_cast<std::int64_t>(k) * right.stride[0]]); });
    if (epilogue.bias.data) sum = sum + epilogue.bias.data[column];
    if (epilogue.relu) sum = numerics::relu(sum);
    float& to = part(matrix_at(c, matrix), 0, row, row + 1).data[column];
    to = epilogue.accumulate ? to + sum : sum;
  }
}

}  // namespace assay::kernels::ASSAY_ISA
