// Stochastic gradient descent of the oracle.
#pragma once

#include "reference/array.hpp"
#include "reference/finite.hpp"

namespace assay::reference {

struct SgdArrays {
  Array w, u;
};

inline bool finite(const SgdArrays& arrays) { return finite(arrays.w) && finite(arrays.u); }

/// Weight and velocity after a step with gradient g.
inline SgdArrays sgd(SgdArrays now, const Array& g, double learning_rate, double momentum, double weight_decay,
                     bool nesterov) {
  for (std::int64_t i = 0; i < g.size(); ++i) {
    double gradient = g[i] + weight_decay * now.w[i];
    now.u[i] = momentum * now.u[i] + gradient;
    now.w[i] -= learning_rate * (nesterov ? gradient + momentum * now.u[i] : now.u[i]);
  }
  return now;
}

}  // namespace assay::reference
