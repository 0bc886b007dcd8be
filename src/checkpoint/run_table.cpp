// Appending and cutting rows.
#include "checkpoint/run_table.hpp"

#include <algorithm>

namespace assay {
namespace {

template <class T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_columns(RunTable& to, const RunTable& rows, bool tables) {
  std::vector<const void*> columns;
  for_each_column(rows, {}, [&](const RunColumn&, const auto& values) { columns.push_back(&values); });
  auto next = columns.begin();
  for_each_column(to, {}, [&]<class T>(const RunColumn& column, std::vector<T>& values) {
    const auto& from = *static_cast<const std::vector<T>*>(*next++);
    if (tables || !column.is_table) append_all(values, from);
  });
}

std::size_t rows_until(const std::vector<std::uint64_t>& steps, std::uint64_t last) {
  return static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), last) - steps.begin());
}

}  // namespace

void RunTable::append(const StepRow& row) {
  step.push_back(row.step);
  epoch.push_back(row.epoch);
  loss.push_back(row.loss);
  gradient_norm.push_back(row.gradient_norm);
  learning_rate.push_back(row.learning_rate);
  finite.push_back(row.finite);
  loss_digest.push_back(row.loss_digest);
  ids_digest.push_back(row.ids_digest);
  append_all(parameters, row.parameters);
  append_all(gradients, row.gradients);
  append_all(optimiser, row.optimiser);
  append_all(masks, row.masks);
  append_all(trace, row.trace);
  seconds.push_back(row.seconds);
}

void RunTable::append(const ValidationRow& row) {
  validation_step.push_back(row.step);
  validation_loss.push_back(row.loss);
  validation_accuracy.push_back(row.accuracy);
}

void RunTable::append(const RunTable& rows) { append_columns(*this, rows, true); }
void RunTable::append_plain_columns(const RunTable& rows) { append_columns(*this, rows, false); }

void RunTable::cut(const RunNames& names, std::uint64_t last) {
  const std::size_t steps = rows_until(step, last), validations = rows_until(validation_step, last);
  for_each_column(*this, names, [&](const RunColumn& column, auto& values) {
    values.resize((column.of_validation() ? validations : steps) * column.width);
  });
}

}  // namespace assay
