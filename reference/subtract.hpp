// Subtraction of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// a − b, element by element; both have the result's shape.
inline Array subtract(const Array& a, const Array& b) {
  return map(a, b, [](double x, double y) { return x - y; });
}

}  // namespace assay::reference
