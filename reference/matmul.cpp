// Matrix product of the oracle, by Eigen: an order of summation that Assay did not choose.
#include "reference/matmul.hpp"

#include <Eigen/Core>

namespace assay::reference {

Array matmul(const Array& a, const Array& b) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Place = Eigen::Map<Matrix>;
  using Operand = Eigen::Map<const Matrix>;
  std::size_t rank = a.shape.size();
  std::int64_t rows = a.shape[rank - 2], depth = a.shape[rank - 1], columns = b.shape[rank - 1];
  std::vector<std::int64_t> shape = a.shape;
  shape[rank - 1] = columns;
  Array c = zeros(shape);
  for (std::int64_t i = 0; rows * columns > 0 && i < c.size() / (rows * columns); ++i)
    Place(c.values.data() + i * rows * columns, rows, columns).noalias() =
        Operand(a.values.data() + i * rows * depth, rows, depth) *
        Operand(b.values.data() + i * depth * columns, depth, columns);
  return c;
}

}  // namespace assay::reference
