// Tensors as files hold them, and back.
#pragma once

#include "checkpoint/hdf5.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// The elements of a tensor as T; real numbers are rounded to it where they are wider.
template <class T>
Array stored(const Tensor& x) {
  return with_type(x.dtype(), [&](auto zero) {
    const auto elements = x.read<decltype(zero)>();
    std::vector<T> values;
    for (auto element : elements) values.push_back(static_cast<T>(element));
    return Array::of(std::span<const T>(values), x.shape().extents());
  });
}

/// Stored real numbers as the real type of a device.
inline Tensor tensor_of(const Array& array, Device device) {
  const Shape shape(array.shape);
  return array.type == ElementType::float64 ? Tensor::from(array.values<double>(), shape, device)
                                            : Tensor::from(array.values<float>(), shape, device);
}

/// A dataset of T on a device, for good. Errors: FILE-3 for another type.
template <class T>
Tensor read_tensor(const hdf5::Group& group, const std::string& name, Device device) {
  const Array array = group.read(name);
  return Tensor::from(array.values<T>(), Shape(array.shape), device).keep();
}

}  // namespace assay
