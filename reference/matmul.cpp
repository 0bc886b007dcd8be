// Matrix product of the oracle, by Eigen: an order of summation that Assay did not choose.
#include "reference/matmul.hpp"

#include <Eigen/Core>

namespace assay::reference {

Array matmul(const Array& a, const Array& b) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Array c = zeros({a.shape[0], b.shape[1]});
  Eigen::Map<Matrix>(c.values.data(), c.shape[0], c.shape[1]).noalias() =
      Eigen::Map<const Matrix>(a.values.data(), a.shape[0], a.shape[1]) *
      Eigen::Map<const Matrix>(b.values.data(), b.shape[0], b.shape[1]);
  return c;
}

}  // namespace assay::reference
