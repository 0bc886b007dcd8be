// Names, sizes and shapes of arrays.
#include "checkpoint/array.hpp"

namespace assay {

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::float32:
    case ElementType::int32:
      return 4;
    case ElementType::float64:
    case ElementType::uint64:
      return 8;
    case ElementType::uint8:
      break;
  }
  return 1;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
    case ElementType::int32:
      return "int32";
    case ElementType::uint64:
      return "uint64";
    case ElementType::uint8:
      break;
  }
  return "uint8";
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::size_t shape_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool fits = true;
  for (std::int64_t extent : shape) {
    if (extent < 0) fits = false;
    if (extent == 0 || !fits) count = 0;
    if (count > 0 && __builtin_mul_overflow(count, extent, &count)) fits = false;
  }
  if (!fits) throw Error("FILE-3", "shape of an array", "extents ≥ 0 whose product fits 63 bits", shape_text(shape));
  return static_cast<std::size_t>(count);
}

}  // namespace assay
