// The trainings that benchmarks measure.
#pragma once

#include <string>

#include "harness/training.hpp"

namespace assay::benchmark {

/// A training without its length: the benchmark ends it.
struct Workload {
  Configuration configuration;
  Datasets data;
};

/// "mlp": Fashion-MNIST by 784-512-512-10 with ReLU, batches of 128. "V,C,D,H,N,F,B": a decoder with vocabulary V,
/// context C, width D, H heads, N blocks, hidden width F and GELU, on synthetic tokens, batches of B. Cross entropy,
/// and AdamW with the usual values. Throws for any other text.
Workload workload_of(const std::string& model);

}  // namespace assay::benchmark
