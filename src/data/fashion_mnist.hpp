// Fashion-MNIST, and any folder that holds the same four IDX files.
#pragma once

#include <string>

#include "data/dataset.hpp"

namespace assay {

/// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each with
/// or without ".gz", from a folder.
///
/// Errors: RUN-3 naming a file that is missing; FILE-6 as `read_idx` and `from_idx`, and when both sets do not have
/// samples of one shape.
TrainAndTest load_idx_folder(const std::string& folder);

/// The same, of Zalando's Fashion-MNIST: samples of 28 × 28 pixels in 10 classes. The error for missing data names
/// Debian's package. Source: H. Xiao, K. Rasul, R. Vollgraf, arXiv:1708.07747.
///
///     TrainAndTest data = load_fashion_mnist("/usr/share/datasets/fashion-mnist");  // 60,000 and 10,000 samples
TrainAndTest load_fashion_mnist(const std::string& folder);

}  // namespace assay
