// Low-rank adapters over chosen linear layers of a model: attach, train, merge, unmerge, and files of them alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/low_rank_adapter.hpp"
#include "nn/module.hpp"

namespace assay {

/// Gives an adapter to each linear layer of these names (`linears_named`), all or none. The output keeps its bits as
/// long as nothing is trained (LORA-1); `parameters()` keeps its names, order and identities, and no flag changes:
/// freeze what is not to be trained, and it costs no gradient (LORA-4). The weights may be packed.
///
/// A layer's first values come from the stream "NAME.adapter.down" of the seed, whatever else is drawn or attached.
/// Errors: LORA-2 for rank or α; LORA-3 for a name that chooses none, or a layer that has an adapter.
///
///     attach_adapters(model, {"attention.query", "attention.value"}, {.rank = 8, .alpha = 16}, 7);
///     Adam optimiser(lora_parameters(model), {});
void attach_adapters(Module& model, const std::vector<std::string>& names, const LowRankOptions& options,
                     std::uint64_t seed);

/// The adapters' parameters, "NAME.adapter.down" and "NAME.adapter.up", in the order of the layers.
ParameterList lora_parameters(const Module& model);

/// Puts the contribution of every adapter into its layer's weight, W − ((−α/r)·B)·A, all or none: until `unmerge` a
/// forward is that of the dense layer alone. Gradients of the weights are dropped.
/// Errors: LORA-5 without adapters, for one that is merged already, a packed weight, or a result that is not finite.
void merge(Module& model);

/// The weights as they were before `merge`, bit for bit. Errors: LORA-5 unless every adapter is merged.
void unmerge(Module& model);

/// Writes all adapters of a model, in float32, with the digest of what they were trained on, as a sealed file.
/// Errors: LORA-6 without adapters, LORA-5 while they are merged, FILE-2.
void save_adapters(const std::string& path, const Module& model);

/// Attaches the adapters of a file, all or none. Errors: FILE-3 and FILE-6 for a file of another kind or a damaged one;
/// LORA-6 naming the path for another base, or an adapter that fits no layer; LORA-2 and LORA-3 as `attach_adapters`.
void load_adapters(const std::string& path, Module& model);

}  // namespace assay
