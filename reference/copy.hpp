// Copy of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

inline Array copy(const Array& x) { return x; }

}  // namespace assay::reference
