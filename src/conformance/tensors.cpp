// Values to check with.
#include "conformance/tensors.hpp"

#include <sstream>

#include "base/ulp.hpp"
#include "numerics/philox.hpp"

namespace assay::conformance {

Tensor drawn(const Shape& shape, std::uint64_t seed, double low, double high, Device device) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(low + (high - low) * numerics::uniform(seed, i, 0));
  return Tensor::from(values, shape, device);
}

std::vector<double> doubles(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) {
    auto values = tensor.read<decltype(zero)>();
    return std::vector<double>(values.begin(), values.end());
  });
}

Tensor strided(const Tensor& tensor) {
  const int rank = tensor.shape().rank();
  if (rank == 0 || tensor.dtype() != real(tensor.device())) return tensor;
  const Tensor stored = rank > 1 ? tensor.transpose(rank - 1, rank - 2) : tensor;
  const Shape wider = stored.shape().with(-1, stored.shape()[-1] + 3);
  Tensor room = Tensor::full(wider, 777, tensor.device());
  Tensor place = room.slice(rank - 1, 2, 2 + stored.shape()[-1]);
  with_type(tensor.dtype(), [&](auto zero) { place.write(stored.read<decltype(zero)>().span()); });
  return rank > 1 ? place.transpose(rank - 1, rank - 2) : place;
}

std::string difference(const Tensor& expected, const Tensor& found) {
  std::ostringstream text;
  if (expected.shape() != found.shape() || expected.dtype() != found.dtype()) {
    text << "expected " << name_of(expected.dtype()) << " " << to_string(expected.shape()) << ", found "
         << name_of(found.dtype()) << " " << to_string(found.shape());
    return text.str();
  }
  return with_type(expected.dtype(), [&](auto zero) -> std::string {
    const auto a = expected.read<decltype(zero)>(), b = found.read<decltype(zero)>();
    for (std::int64_t i = 0; i < a.size(); ++i) {
      if constexpr (std::is_floating_point_v<decltype(zero)>) {
        if (ulp_distance(a[i], b[i]) == 0) continue;
        text << "element " << i << ": expected " << a[i] << ", found " << b[i] << ", " << ulp_distance(a[i], b[i])
             << " ULP apart";
        return text.str();
      } else if (a[i] != b[i]) {
        text << "element " << i << ": expected " << +a[i] << ", found " << +b[i];
        return text.str();
      }
    }
    return "";
  });
}

}  // namespace assay::conformance
