// Initial values of parameters, drawn from named streams.
#pragma once

#include "numerics/random.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// Elements (2u − 1)·limit, u uniform in [0, 1), limit rounded once to binary32 (N6). The draw is that of the scope's
/// own stream, so the values depend on the seed and the scope's path alone.
Tensor uniform(const Shape& shape, double limit, const Random& random);
/// Elements z·deviation, z standard normal. (A constant is `Tensor::full`.)
Tensor normal(const Shape& shape, double deviation, const Random& random);
/// Normal with variance 2/fan_in, fan_in = the last extent. Source: K. He et al., "Delving deep into rectifiers"
/// (2015).
Tensor he_normal(const Shape& shape, const Random& random);
/// Uniform in ±√(6/(fan_in + fan_out)), for a matrix [fan_out, fan_in].
/// Source: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010).
Tensor xavier_uniform(const Shape& shape, const Random& random);
/// Normal with variance 2/(fan_in + fan_out), for a matrix [fan_out, fan_in]; source as above.
Tensor xavier_normal(const Shape& shape, const Random& random);

}  // namespace assay
