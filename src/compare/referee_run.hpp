// Referee run: a float64 run of the same experiment, and how far two runs are from it.
#pragma once

#include <string>
#include <vector>

#include "compare/growth.hpp"
#include "compare/names.hpp"

namespace assay {

/// Both runs beside R, at the checkpoints that all three have. Distances are relative to R.
struct RefereeRun {
  std::string folder;
  GrowthCurve a, b;             ///< from R to A and from R to B
  LossDistance loss_a, loss_b;  ///< of the loss of each step from R's

  /// Who is further from R at the last of the checkpoints, of all parameters: "A", "B", "neither"; "" without one.
  std::string further() const;
  /// The parameters in which that side, "A" or "B", is the further one there.
  std::vector<std::string> further_in(const std::string& side) const;
};

/// Measures A and B by a run of their experiment on the device `reference`. Files of B get the names of A by
/// `names_of_b`.
/// Errors: CMP-4 for a run on another device or of another experiment, naming all that differs; FILE-3 and FILE-6.
///
///     judge_by_run("runs/float64", "runs/exact", a, "runs/fast", b, {}).further();  // "B"
RefereeRun judge_by_run(const std::string& folder, const std::string& folder_a, const RunData& a,
                        const std::string& folder_b, const RunData& b, const NameMap& names_of_b);

}  // namespace assay
