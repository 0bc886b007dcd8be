// Array: the value of one dataset as type, shape and bytes; what files hold, without any tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace assay {

enum class ElementType { float32, float64, int32, uint8, uint64 };

std::size_t element_size(ElementType type);
/// "float32", "float64", "int32", "uint8" or "uint64".
const char* element_name(ElementType type);
/// "[2, 3]"; "[]" is a scalar.
std::string shape_text(std::span<const std::int64_t> shape);
/// Product of the extents; 1 for a scalar. Throws FILE-3 on a negative extent or an overflow.
std::size_t shape_count(std::span<const std::int64_t> shape);

template <class T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::int32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
  if constexpr (std::is_same_v<T, std::uint64_t>) return ElementType::uint64;
}

/// Elements in row-major order, little-endian, `bytes.size() == shape_count(shape) * element_size(type)`.
///
///     Array weight = Array::of<float>(values, {128, 784});
///     std::vector<float> back = weight.values<float>();
struct Array {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  template <class T>
  static Array of(std::span<const T> values, std::vector<std::int64_t> shape) {
    if (values.size() != shape_count(shape))
      throw Error("FILE-3", "array of shape " + shape_text(shape), std::to_string(shape_count(shape)) + " elements",
                  std::to_string(values.size()));
    auto bytes = std::as_bytes(values);
    return {element_type<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
  }
  template <class T>
  static Array of(const std::vector<T>& values) {
    return of(std::span<const T>(values), {static_cast<std::int64_t>(values.size())});
  }

  /// The elements, as long as the array lives. Throws FILE-3 when T is not the type of the array.
  template <class T>
  std::span<const T> view() const {
    if (type != element_type<T>())
      throw Error("FILE-3", "elements of an array", element_name(element_type<T>()), element_name(type));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// A copy of the elements. Throws as `view`.
  template <class T>
  std::vector<T> values() const {
    const std::span<const T> elements = view<T>();
    return {elements.begin(), elements.end()};
  }

  friend bool operator==(const Array& a, const Array& b) {
    return a.type == b.type && a.shape == b.shape && a.bytes.size() == b.bytes.size() &&
           (a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
  }
};

struct NamedArray {
  std::string name;
  Array array;

  friend bool operator==(const NamedArray&, const NamedArray&) = default;
};

}  // namespace assay
