// Dtype: the element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "device/device.hpp"

namespace assay {

enum class Dtype { float32, float64, int32, uint8, uint64 };

template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return Dtype::float32;
  else if constexpr (std::is_same_v<T, double>)
    return Dtype::float64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Dtype::int32;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return Dtype::uint8;
  else {
    static_assert(std::is_same_v<T, std::uint64_t>, "a tensor holds float, double, int32, uint8 or uint64");
    return Dtype::uint64;
  }
}

constexpr std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::uint64:
      return 8;
    case Dtype::uint8:
      return 1;
    default:
      return 4;
  }
}

constexpr const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return "float32";
    case Dtype::float64:
      return "float64";
    case Dtype::int32:
      return "int32";
    case Dtype::uint8:
      return "uint8";
    case Dtype::uint64:
      return "uint64";
  }
  return "";
}

/// The element type of real numbers there: float32, on `reference` float64.
constexpr Dtype real(Device device) { return device.kind == DeviceKind::reference ? Dtype::float64 : Dtype::float32; }

/// Calls `body` with a zero of the dtype's C++ type.
template <class Body>
decltype(auto) with_type(Dtype dtype, Body&& body) {
  switch (dtype) {
    case Dtype::float64:
      return body(double{});
    case Dtype::int32:
      return body(std::int32_t{});
    case Dtype::uint8:
      return body(std::uint8_t{});
    case Dtype::uint64:
      return body(std::uint64_t{});
    default:
      return body(float{});
  }
}

}  // namespace assay
