// The digest of a tensor: a sum of integers.
#include "kernels/digest.hpp"

#include "kernels/cuda/count.cuh"
#include "numerics/digest.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

struct DigestTerm {
  std::uint64_t first_index;
  template <class T>
  __device__ std::uint64_t operator()(std::int64_t i, T value) const {
    return numerics::digest_element(first_index + static_cast<std::uint64_t>(i), value);
  }
};

}  // namespace

void digest(View<const float> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  count("digest", DigestTerm{first_index}, HowMany(), slot, x);
}
void digest(View<const double> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  count("digest", DigestTerm{first_index}, HowMany(), slot, x);
}
void digest(View<const std::int32_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  count("digest", DigestTerm{first_index}, HowMany(), slot, x);
}
void digest(View<const std::uint8_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  count("digest", DigestTerm{first_index}, HowMany(), slot, x);
}
void digest(View<const std::uint64_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  count("digest", DigestTerm{first_index}, HowMany(), slot, x);
}

}  // namespace assay::kernels::ASSAY_ISA
