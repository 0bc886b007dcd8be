// Adam and AdamW of the oracle, as the papers write them.
#pragma once

#include <cmath>

#include "reference/array.hpp"
#include "reference/finite.hpp"

namespace assay::reference {

struct AdamArrays {
  Array w, m, v;
};

inline bool finite(const AdamArrays& arrays) { return finite(arrays.w) && finite(arrays.m) && finite(arrays.v); }

/// The arrays after step t ≥ 1 with gradient g. `decoupled` shrinks the weight (AdamW), else decay joins the gradient.
inline AdamArrays adam(AdamArrays now, const Array& g, double learning_rate, double beta1, double beta2, double epsilon,
                       double weight_decay, bool decoupled, std::uint64_t t) {
  double correction1 = 1 - std::pow(beta1, static_cast<double>(t));
  double correction2 = 1 - std::pow(beta2, static_cast<double>(t));
  for (std::int64_t i = 0; i < g.size(); ++i) {
    double gradient = decoupled ? g[i] : g[i] + weight_decay * now.w[i];
    if (decoupled) now.w[i] -= learning_rate * weight_decay * now.w[i];
    now.m[i] = beta1 * now.m[i] + (1 - beta1) * gradient;
    now.v[i] = beta2 * now.v[i] + (1 - beta2) * gradient * gradient;
    double mean = now.m[i] / correction1, square = now.v[i] / correction2;
    now.w[i] -= learning_rate * mean / (std::sqrt(square) + epsilon);
  }
  return now;
}

}  // namespace assay::reference
