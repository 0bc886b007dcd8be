// Values to check with: drawn ones, views of them, and the first bit that differs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace assay::conformance {

/// Elements uniform in [low, high), a function of the seed alone; the same values, widened, on the reference device.
///
///     Tensor x = drawn({5, 3}, 1, -2, 2);
Tensor drawn(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1, Device device = cpu);

/// The elements as doubles, whatever their type and device.
std::vector<double> doubles(const Tensor& tensor);

/// The same logical value behind other strides: the last two axes are stored exchanged, in the middle of a larger
/// tensor. A scalar, and a tensor of whole numbers, is given back as it is.
Tensor strided(const Tensor& tensor);

/// Where two tensors first differ in shape or in the bits of an element, whatever their devices; "" where they do not.
/// NaNs are equal, zeros of two signs are not.
std::string difference(const Tensor& expected, const Tensor& found);

}  // namespace assay::conformance
