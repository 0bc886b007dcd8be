// ACC-7: the storage of a tensor is out of reach.
// refused: private
#include "tensor/tensor.hpp"

void test(const assay::Tensor& tensor) {
#ifdef ASSAY_KEEPS
  static_cast<void>(tensor.read<float>());
#else
  static_cast<void>(tensor.storage_);
#endif
}
