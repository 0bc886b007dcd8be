// The linear layers of a model by name.
#pragma once

#include <string>
#include <vector>

#include "nn/linear.hpp"

namespace assay {

struct NamedLinear {
  std::string name;  ///< dotted
  Linear* linear;
};

/// Every Linear below `model`, in the order of `parameters()`.
std::vector<NamedLinear> linears_of(const Module& model);

/// Those whose dotted name is one of `names` or ends with '.' and it, in that same order, each once: "attention.query"
/// chooses it in every block. Errors: `id`, naming `operation`, for a name that chooses none.
std::vector<NamedLinear> linears_named(const Module& model, const std::vector<std::string>& names,
                                       const std::string& operation, const char* id);

/// The layers of exactly these names, as a file lists them. Errors: `id`, naming `where`, for a name that is no layer's
/// or that stands there twice.
std::vector<NamedLinear> listed_linears(const Module& model, const std::vector<std::string>& names,
                                        const std::string& where, const char* id);

/// The digest (N9) of all that a model computes with but its adapters: its parameters, and the codes of packed weights,
/// in binary32 whatever the device. Errors: LORA-5 while an adapter is merged.
std::string base_digest(const Module& model);

}  // namespace assay
