// Explanation: the first result that differs between two runs, element by element, and which side is wrong.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "compare/cause.hpp"
#include "compare/divergence.hpp"
#include "compare/names.hpp"
#include "compare/referee.hpp"
#include "compare/values.hpp"

namespace assay {

struct Explanation {
  struct Side {
    std::string values;  ///< where its values come from: "this build", "its tensors file", "the cause"; empty: unknown
    bool recorded = false;  ///< whether its run has a digest of the result
    bool exact = false;     ///< its bits are those of numerics exact, computed here
    std::string cause;      ///< how its bits come about when they are others; empty: none of the hypotheses
  };
  std::string unavailable;     ///< why there is nothing more; empty otherwise
  std::string result;          ///< name of the first result that differs, "backward/fc1/linear:1"
  std::uint64_t began_at = 0;  ///< the step of the checkpoint from which it was computed again
  Side a, b;
  std::vector<std::int64_t> shape;
  std::size_t elements = 0, different = 0;
  std::optional<ValueDifference::Element> element;  ///< the first that differs, when both sides' values are known
  /// Elements by distance: equal, 1 ULP, 2 to 3, 4 to 7, … 2³¹ and more; last, a NaN on one side.
  std::array<std::size_t, 34> histogram{};
  std::optional<Referee> referee;
  std::string wrong;  ///< "A", "B", "neither", "both" or "unknown", with `reason`
  std::string reason;
};

/// Computes the step of the first difference in bits again, from the last checkpoint before it, and says how far the
/// first differing result is apart, whose bits are those of `exact`, and what gives the bits of the other side. With
/// `referee` also what float64 says.
///
/// `b` has the names of A already; files of its folder get them by `names_of_b`. Values of a side are known when this
/// build computes its recorded bits, when the run kept them (`trace.tensors`), or when a cause reproduces them. Without
/// data or code that reaches the recorded state, `unavailable` says so.
///
///     Explanation why = explain("runs/a", a, "runs/b", b, {}, first_divergence, true);
Explanation explain(const std::string& folder_a, const RunHead& a, const std::string& folder_b, const RunHead& b,
                    const NameMap& names_of_b, const Divergence& first, bool referee);

}  // namespace assay
