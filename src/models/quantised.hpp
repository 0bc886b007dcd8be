// Linear layers whose weights are codes of 4 bits: made from dense ones, back, and in files.
#pragma once

#include <string>
#include <vector>

#include "autograd/nf4_linear.hpp"
#include "nn/module.hpp"

namespace assay {

/// Replaces the weights of the linear layers of these names (`linears_named`) by codes, all or none. Their parameters
/// "weight" leave `parameters()` and their memory goes; biases stay. Only the input of such a layer, its bias and its
/// adapter have gradients.
///
/// Errors: NF4-4 for a name that chooses none or a layer that is packed already, REG-13 for a weight that is frozen or
/// that somebody else holds (a handle, a list, an optimiser, a graph), NF4-1 and NF4-2 for values that have no codes.
///
///     quantise(model, {"fc1", "fc2"}, {.block = 64});
void quantise(Module& model, const std::vector<std::string>& names, const Nf4Options& options = {});

/// The way back: float32 weights under their old names, in their old places, with the values of the codes.
/// Errors: NF4-4 for a name that chooses none or a layer that is not packed; nothing has changed then.
void dequantise(Module& model, const std::vector<std::string>& names);

/// Writes the codes of all packed layers of a model, as a sealed file. Errors: NF4-4 without any, FILE-2.
void save_packed(const std::string& path, const Module& model);

/// Gives the layers that the file names these codes in the place of their dense weights, all or none.
/// Errors: FILE-3 and FILE-6 for a file of another kind or a damaged one; NF4-4 naming path and field for codes that
/// `quantise` cannot have made, or that fit no layer; REG-13 as `quantise`.
void load_packed(const std::string& path, Module& model);

}  // namespace assay
