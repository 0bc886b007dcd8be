// Tensor files: results of one step, whole.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/array.hpp"

namespace assay {

/// "FOLDER/tensors/step-00000012.h5".
std::string tensor_path(const std::string& folder, std::uint64_t step);

/// Writes the tensors that a step kept. A name is the path of its dataset: "forward/fc1/linear".
/// Errors: FILE-2 when the file cannot be written; nothing has changed then.
void save_tensors(const std::string& path, std::uint64_t step, const std::vector<NamedArray>& tensors);

/// All of a tensor file, in its order. Errors: FILE-3, FILE-6.
///
///     for (const NamedArray& tensor : load_tensors(tensor_path("runs/0001", 12))) …
std::vector<NamedArray> load_tensors(const std::string& path);

}  // namespace assay
