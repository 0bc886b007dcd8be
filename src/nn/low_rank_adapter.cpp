// The formula of low-rank adapters and what they may be.
#include "nn/low_rank_adapter.hpp"

#include <algorithm>

#include "autograd/add.hpp"
#include "autograd/linear.hpp"
#include "autograd/subtract.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/finite.hpp"
#include "kernels/scale.hpp"
#include "nn/initialisers.hpp"

namespace assay {
namespace {

std::int64_t valid_rank(std::int64_t in, std::int64_t out, std::int64_t rank, double alpha) {
  if ((rank < 1 || rank > std::min(in, out)) && !sabotaged("adapter_of_any_rank"))
    throw Error("LORA-2", "LowRankAdapter", "a rank from 1 to " + std::to_string(std::min(in, out)),
                std::to_string(rank));
  if (!(alpha > 0 && alpha - alpha == 0) && !sabotaged("adapter_of_any_alpha"))
    throw Error("LORA-2", "LowRankAdapter", "a finite positive alpha", std::to_string(alpha));
  return rank;
}

Tensor valid_factor(Tensor value, const Shape& shape, const char* name) {
  if (!(value.shape() == shape))
    throw Error("LORA-2", std::string("LowRankAdapter, ") + name, to_string(shape), to_string(value.shape()));
  if (!kernels::finite(value)) throw Error("LORA-2", std::string("LowRankAdapter, ") + name, "finite values", "others");
  return value;
}

double factor_of(const LowRankAdapter& adapter) {
  if (sabotaged("adapter_forgets_the_rank")) return -adapter.alpha();
  return -adapter.alpha() / static_cast<double>(adapter.rank());
}

}  // namespace

LowRankAdapter::LowRankAdapter(std::int64_t in, std::int64_t out, const LowRankOptions& options, const Random& random,
                               Device device)
    : down(xavier_uniform({valid_rank(in, out, options.rank, options.alpha), in}, random["down"]).to(device)),
      up(Tensor::zeros({out, options.rank}, device)),
      alpha_(options.alpha) {}

LowRankAdapter::LowRankAdapter(std::int64_t in, std::int64_t out, double alpha, Tensor down_value, Tensor up_value)
    : down(valid_factor(down_value, {valid_rank(in, out, down_value.shape()[0], alpha), in}, "down")),
      up(valid_factor(std::move(up_value), {out, rank()}, "up")),
      alpha_(alpha) {}

Variable LowRankAdapter::add_to(const Variable& y, const Variable& x) const {
  const bool adds = sabotaged("adapter_adds_zeros");
  const double factor = adds ? -factor_of(*this) : factor_of(*this);
  const Variable inner = linear(x, down.variable());
  const Variable scaled = custom_gradient("scale", kernels::scale(inner.value(), factor), {inner},
                                          [factor](const Tensor& upstream, const std::vector<bool>&) {
                                            return std::vector{kernels::scale(upstream, factor)};
                                          });
  const Variable z = linear(scaled, up.variable());
  return adds ? add(y, z) : subtract(y, z);
}

Tensor LowRankAdapter::merged_with(const Tensor& weight) const {
  return kernels::subtract(weight, kernels::matmul(kernels::scale(up.value(), factor_of(*this)), down.value()));
}

}  // namespace assay
