// Comparison of two runs: what agrees, and the first thing that does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparable.hpp"
#include "compare/divergence.hpp"
#include "compare/explanation.hpp"
#include "compare/growth.hpp"
#include "compare/names.hpp"
#include "compare/policy.hpp"
#include "compare/referee_run.hpp"
#include "compare/values.hpp"

namespace assay {

/// One element that differs, out of the first common checkpoint that shows the divergence.
struct ShownElement {
  std::uint64_t checkpoint = 0;  ///< its step
  std::string tensor, index;     ///< "fc1.weight", "[3, 17]"
  double a = 0, b = 0;
  std::uint64_t ulp = 0;
};

struct NamedDifference {
  std::string table;  ///< "parameters" or "optimiser" for a tensor of a checkpoint, "steps" for a metric of all steps
  std::string name;
  std::vector<std::int64_t> shape;
  ValueDifference values;
};

struct Comparison {
  struct Side {
    std::string folder, status, device, threads, numerics;
    std::uint64_t last_step = 0;
    double seconds_per_step = 0;  ///< the median; 0 of a refused pair
  };
  Side a, b;
  Policy policy;
  std::vector<Difference> refused;  ///< not empty: other experiments, nothing was compared (CMP-4)
  bool holds = false;
  std::uint64_t steps_compared = 0;  ///< those that both runs hold
  std::size_t tensors_per_step = 0;  ///< digests compared at each of them
  std::size_t validations_compared = 0;
  std::optional<Divergence> first_divergence;
  std::optional<ShownElement> element;
  std::vector<std::uint64_t> checkpoints;  ///< steps of which both have a checkpoint
  std::vector<NamedDifference> tensors;    ///< of the last of them
  std::vector<NamedDifference> per_step;   ///< loss and gradient norm over all steps compared
  std::vector<Metric> metrics;             ///< of complete runs: test_accuracy, test_loss
  /// Of the first difference in bits, whatever the policy accepts; where it was asked for.
  std::optional<Explanation> explanation;
  std::optional<RefereeRun> referee_run;
  Growth growth;                    ///< of the parameters over the checkpoints, and of the loss
  bool other_element_type = false;  ///< one of them computed in float64, the other in float32
};

/// What is to be found out about the first difference in bits: nothing beyond the files, its element and cause by a
/// replay (`explain`), and also what float64 says.
enum class Explain { no, replay, referee };

struct CompareOptions {
  Explain explain = Explain::no;
  NameMap names = {};                   ///< what names of B are in A
  std::vector<std::string> nulls = {};  ///< folders of null runs (`add_null_runs`)
  std::string referee_run = {};         ///< folder of a float64 run (`judge_by_run`)
};

/// Compares two run folders, step by step.
///
/// - bitwise: everything that a step leaves (digests of sample ids, masks, loss, gradients, optimiser, parameters;
/// loss,
///   gradient norm, learning rate), the whole state of every checkpoint that both have, validations and the result.
///   Times and provenance are outside.
/// - ulp and close: sample ids exactly; loss, gradient norm and learning rate of every step, the parameters and
/// optimiser
///   tensors of every checkpoint that both have, validation and test loss by the policy. Accuracies count samples and
///   are not judged.
///
/// It holds when at least one step was compared, everything compared is accepted and both runs end at the same step:
/// of an interrupted run the common steps are compared, and the comparison does not hold.
/// Names of B that `options.names` maps are those of A then.
/// Errors: FILE-3 and FILE-6 for a file that cannot be read or is damaged; CMP-4 for checkpoints of other tensors than
/// the runs, or names that do not fit B.
///
///     Comparison comparison = compare_runs("runs/one", "runs/two", parse_policy("bitwise"));
///     if (!comparison.holds) std::cout << verdict_text(comparison);
Comparison compare_runs(const std::string& folder_a, const std::string& folder_b, const Policy& policy,
                        const CompareOptions& options = {});

}  // namespace assay
