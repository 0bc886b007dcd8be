// Initial values: element n of draw 0 of a stream, computed on the host.
#include "nn/initialisers.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "numerics/arithmetic.hpp"
#include "numerics/philox.hpp"

namespace assay {
namespace {

template <class Element>
Tensor drawn(const Shape& shape, const Random& random, Element element) {
  std::shared_ptr<Stream> stream = random.stream();
  std::uint64_t key = stream->key(), draw = stream->next_draw().index;
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = element(key, n, draw);
  return Tensor::from(values, shape);
}

double fan_in(const char* initialiser, const Shape& shape) {
  if (shape.rank() != 2 || shape.size() == 0)
    throw Error("LAYER-2", initialiser, "a matrix [fan_out, fan_in] that is not empty", to_string(shape));
  return static_cast<double>(shape[sabotaged("fan_in_is_fan_out") ? 0 : 1]);
}

double both_fans(const char* initialiser, const Shape& shape) {
  return fan_in(initialiser, shape) + static_cast<double>(shape[0]);
}

}  // namespace

Tensor uniform(const Shape& shape, double limit, const Random& random) {
  float scale = static_cast<float>(limit);
  return drawn(shape, random, [scale](std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
    return (2.0f * numerics::uniform(key, n, draw) - (sabotaged("uniform_off_centre") ? 0.9f : 1.0f)) * scale;
  });
}

Tensor normal(const Shape& shape, double deviation, const Random& random) {
  float scale = static_cast<float>(deviation);
  return drawn(shape, random, [scale](std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
    return numerics::normal(key, n, draw) * scale;
  });
}

Tensor he_normal(const Shape& shape, const Random& random) {
  return normal(shape, numerics::square_root(2 / fan_in("he_normal", shape)), random);
}

Tensor xavier_uniform(const Shape& shape, const Random& random) {
  return uniform(shape, numerics::square_root(6 / both_fans("xavier_uniform", shape)), random);
}

Tensor xavier_normal(const Shape& shape, const Random& random) {
  return normal(shape, numerics::square_root(2 / both_fans("xavier_normal", shape)), random);
}

}  // namespace assay
