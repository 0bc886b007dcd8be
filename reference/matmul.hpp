// Matrix product of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// c = a·b with a […, m, k] and b […, k, n], the axes before the last two the same in both.
Array matmul(const Array& a, const Array& b);

}  // namespace assay::reference
