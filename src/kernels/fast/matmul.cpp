// Matrix product of the profile fast: Eigen's, in an order of summation that Eigen chooses.
#include "kernels/matmul.hpp"

#include "kernels/cpu/matmul_parts.hpp"

// Eigen's functions are inline, so the linker would keep one build's copy for all: each build has an Eigen of its own.
#define ASSAY_JOINED(name, isa) name##_##isa
#define ASSAY_RENAMED(name, isa) ASSAY_JOINED(name, isa)
#define Eigen ASSAY_RENAMED(Eigen, ASSAY_ISA)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#define EIGEN_NO_IO
#include <Eigen/Core>

namespace assay::kernels::ASSAY_ISA {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class Order>
using Operand = Eigen::Map<const Order, Eigen::Unaligned, Eigen::OuterStride<>>;

// Calls use(…) with x as a matrix whose unit stride Eigen knows; only a view without one is copied.
template <class Use>
void with_operand(View<const float> x, Use use) {
  std::int64_t rows = x.extent[0], columns = x.extent[1];
  if (columns <= 1 || x.stride[1] == 1)
    return use(Operand<RowMajor>(x.data, rows, columns, Eigen::OuterStride<>(x.stride[0])));
  if (rows <= 1 || x.stride[0] == 1)
    return use(Operand<ColumnMajor>(x.data, rows, columns, Eigen::OuterStride<>(x.stride[1])));
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  RowMajor copy =
      Eigen::Map<const RowMajor, Eigen::Unaligned, Strides>(x.data, rows, columns, Strides(x.stride[0], x.stride[1]));
  use(Operand<RowMajor>(copy.data(), rows, columns, Eigen::OuterStride<>(columns)));
}

void multiply_by_eigen(View<const float> a, View<const float> b, const Epilogue& epilogue, View<float> c) {
  RowMajor apart;  // sums that are added to what c holds
  if (epilogue.accumulate) apart.resize(c.extent[0], c.extent[1]);
  View<float> sums = epilogue.accumulate ? View<float>{apart.data(), 2, {}, {c.extent[1], 1}} : c;
  Eigen::Map<RowMajor, Eigen::Unaligned, Eigen::OuterStride<>> result(sums.data, c.extent[0], c.extent[1],
                                                                      Eigen::OuterStride<>(sums.stride[0]));
  with_operand(a,
               [&](const auto& left) { with_operand(b, [&](const auto& right) { result.noalias() = left * right; }); });
  if (finishes(epilogue)) finish(epilogue, {sums.data, 2, {}, {sums.stride[0], 1}}, c);
}

}  // namespace

void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c) {
  for_parts(a, b, epilogue, c, 16, 16, multiply_by_eigen);
}

}  // namespace assay::kernels::ASSAY_ISA
