// The rows of a run: one per step, one per validation, as columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/array.hpp"
#include "checkpoint/configuration_text.hpp"

namespace assay {

/// Names of the digest columns, in the order of the model's lists.
struct RunNames {
  std::vector<std::string> parameters, optimiser, masks;
  std::vector<std::string> trace = {};  ///< `TraceName`s, in the order of a step
};

/// What one training step leaves behind. Digests are N9; those of parameters and optimiser are after the update.
struct StepRow {
  std::uint64_t step = 0;   ///< the first is 1
  std::uint64_t epoch = 0;  ///< the first is 0
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  bool finite = true;
  std::uint64_t loss_digest = 0, ids_digest = 0;
  std::vector<std::uint64_t> parameters, gradients;  ///< one per name of a parameter
  std::vector<std::uint64_t> optimiser, masks;       ///< one per name
  std::vector<std::string> trace_names = {};         ///< of a traced step: the same at every step of a run
  std::vector<std::uint64_t> trace = {};             ///< one per name
  std::vector<NamedArray> tensors = {};              ///< results that are kept whole; they go to a file of their own
  double seconds = 0;                                ///< outside of digests and comparison
};

struct ValidationRow {
  std::uint64_t step = 0;
  double loss = 0, accuracy = 0;
};

/// Rows as columns. The digest tables are row-major, one row per step, as wide as their list of names.
struct RunTable {
  std::vector<std::uint64_t> step, epoch;
  std::vector<double> loss, gradient_norm, learning_rate;
  std::vector<std::uint8_t> finite;
  std::vector<std::uint64_t> loss_digest, ids_digest;
  std::vector<std::uint64_t> parameters, gradients, optimiser, masks, trace;
  std::vector<double> seconds;

  std::vector<std::uint64_t> validation_step;
  std::vector<double> validation_loss, validation_accuracy;

  std::size_t steps() const { return step.size(); }
  std::size_t validations() const { return validation_step.size(); }
  /// The row of one of the steps, which follow each other.
  std::size_t row_of(std::uint64_t wanted) const { return wanted - step.front(); }

  void append(const StepRow& row);
  void append(const ValidationRow& row);
  void append(const RunTable& rows);
  /// All but the tables of digests.
  void append_plain_columns(const RunTable& rows);
  /// Keeps the rows of steps up to `last`.
  void cut(const RunNames& names, std::uint64_t last);

  friend bool operator==(const RunTable&, const RunTable&) = default;
};

/// A column's place in a file: group and dataset, and for a table the number of its columns.
struct RunColumn {
  std::string group, name;
  bool is_table;
  std::size_t width;  ///< 1 for a plain column

  bool of_validation() const { return group == "validation"; }
  std::vector<std::int64_t> shape(std::uint64_t rows) const {
    std::vector<std::int64_t> extents{static_cast<std::int64_t>(rows)};
    if (is_table) extents.push_back(static_cast<std::int64_t>(width));
    return extents;
  }
};

/// Calls visit(RunColumn, vector) for every column, in the order of the file.
template <class Table, class Visit>
void for_each_column(Table& table, const RunNames& names, Visit visit) {
  visit(RunColumn{"steps", "step", false, 1}, table.step);
  visit(RunColumn{"steps", "epoch", false, 1}, table.epoch);
  visit(RunColumn{"steps", "loss", false, 1}, table.loss);
  visit(RunColumn{"steps", "gradient_norm", false, 1}, table.gradient_norm);
  visit(RunColumn{"steps", "learning_rate", false, 1}, table.learning_rate);
  visit(RunColumn{"steps", "finite", false, 1}, table.finite);
  visit(RunColumn{"steps", "loss_digest", false, 1}, table.loss_digest);
  visit(RunColumn{"steps", "ids_digest", false, 1}, table.ids_digest);
  visit(RunColumn{"steps", "parameters", true, names.parameters.size()}, table.parameters);
  visit(RunColumn{"steps", "gradients", true, names.parameters.size()}, table.gradients);
  visit(RunColumn{"steps", "optimiser", true, names.optimiser.size()}, table.optimiser);
  visit(RunColumn{"steps", "masks", true, names.masks.size()}, table.masks);
  visit(RunColumn{"steps", "trace", true, names.trace.size()}, table.trace);
  visit(RunColumn{"timing", "seconds", false, 1}, table.seconds);
  visit(RunColumn{"validation", "step", false, 1}, table.validation_step);
  visit(RunColumn{"validation", "loss", false, 1}, table.validation_loss);
  visit(RunColumn{"validation", "accuracy", false, 1}, table.validation_accuracy);
}

}  // namespace assay
