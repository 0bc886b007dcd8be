// Steps, transfers and loads that happen wholly or not at all.
#include "optim/optimiser.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/copy.hpp"
#include "kernels/finite.hpp"
#include "kernels/record.hpp"

namespace assay {
namespace {

std::string text_of(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::int64_t rows_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

/// Whole rows, at least one, so that every page is a view of a row range of the parameter.
std::int64_t rows_of_page(const Shape& shape, std::int64_t page) {
  const std::int64_t rows = rows_of(shape);
  return page == 0 || shape.size() == 0 ? std::max<std::int64_t>(1, rows)
                                        : std::max<std::int64_t>(1, page / (shape.size() / rows));
}

/// visit(shape, begin, end) for the rows of each page, at least one page.
template <class Visit>
void for_each_page(const Shape& shape, std::int64_t page_rows, Visit visit) {
  const std::int64_t rows = rows_of(shape);
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(rows, begin + page_rows);
    visit(shape.rank() == 0 ? shape : shape.with(0, end - begin), begin, end);
    begin = end;
  } while (begin < rows);
}

Tensor part_of(const Tensor& whole, std::int64_t begin, std::int64_t end) {
  return whole.shape().rank() == 0 ? whole : whole.slice(0, begin, end);
}

Tensor joined(const std::vector<Tensor>& pages, const Shape& shape) {
  if (pages.size() == 1) return pages[0];
  Tensor whole = Tensor::uninitialised(shape, pages[0].device());
  std::int64_t begin = 0;
  for (const Tensor& page : pages) {
    kernels::copy_into(page, part_of(whole, begin, begin + page.shape()[0]));
    begin += page.shape()[0];
  }
  return whole;
}

}  // namespace

Optimiser::Optimiser(std::string kind, std::vector<Group> groups, std::vector<Slot> slots)
    : kind_(std::move(kind)), slots_(std::move(slots)) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& [list, page, skip_frozen] = groups[group];
    require(page >= 0, "page", "elements, or 0 for one page", static_cast<double>(page));
    if (list.empty() && groups.size() > 1)
      throw Error("OPT-1", kind_ + ", group " + std::to_string(group), "at least one parameter", "an empty list");
    for (const NamedParameter& entry : list) {
      parameters_.push_back(entry);
      members_.push_back({group, skip_frozen, page, {}});
    }
  }
  require_valid(parameters_, kind_);
  if (parameters_.empty()) throw Error("OPT-1", kind_, "at least one parameter", "an empty list");
  device_ = parameters_[0].parameter->value().device();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, parameter] = parameters_[i];
    const Tensor& value = parameter->value();
    if (value.device() != device_ && !sabotaged("optimiser_spread_over_devices"))
      throw Error("OPT-1", kind_, "parameters on one device",
                  quoted(parameters_[0].name) + " on " + to_string(device_) + " and " + quoted(name) + " on " +
                      to_string(value.device()));
    if (!kernels::finite(value) && !sabotaged("optimiser_takes_nan"))
      throw Error("OPT-1", kind_, "finite values", quoted(name) + " not finite");
    Member& member = members_[i];
    require_trained(i, kind_);
    member.page_rows = rows_of_page(value.shape(), member.page_rows);
    member.state.resize(slots_.size());
    for (Pages& pages : member.state)
      for_each_page(value.shape(), member.page_rows,
                    [&](const Shape& shape, auto...) { pages.push_back(Tensor::zeros(shape, device_).keep()); });
  }
  if (sabotaged("optimiser_holds_nothing")) parameters_.clear();
}

void Optimiser::require(bool valid, const char* hyperparameter, const char* expected, double found) const {
  if (!valid && !sabotaged("hyperparameters_unchecked"))
    throw Error("OPT-2", std::string(hyperparameter) + " of " + kind_, expected, text_of(found));
}

void Optimiser::require_decay(const char* hyperparameter, double found) const {
  require(found >= 0 && static_cast<float>(found) < 1, hyperparameter, "at least 0 and below 1 in binary32", found);
}

void Optimiser::require_factor(const char* hyperparameter, double found) const {
  require(found >= 0 && found - found == 0, hyperparameter, "a finite number from 0", found);
}

void Optimiser::require_trained(std::size_t index, const std::string& operation) const {
  const auto& [name, parameter] = parameters_[index];
  if (parameter->frozen() && !members_[index].skip_frozen && !sabotaged("optimiser_takes_frozen"))
    throw Error("LIFE-11", operation, "parameters that are not frozen, or skip_frozen", quoted(name) + " frozen");
}

Optimiser::Step Optimiser::prepared(double learning_rate, const Tensor& slots) {
  require_factor("learning rate", learning_rate);
  std::vector<Update> updates;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = *parameters_[i].parameter;
    if (parameter.value().device() != device_ && !sabotaged("step_across_devices"))
      throw Error("XFER-9", "step of " + kind_, quoted(parameters_[i].name) + " on " + to_string(device_),
                  "it on " + to_string(parameter.value().device()));
    require_trained(i, "step of " + kind_);
    const bool skipped = parameter.frozen() && !sabotaged("step_takes_skipped");
    if ((parameter.has_pending_gradient() && !skipped) || sabotaged("step_without_gradient"))
      updates.push_back({parameters_[i], members_[i].group, members_[i].state});
  }
  if (sabotaged("refused_step_counts")) ++step_count_;
  Step step{learning_rate, step_count_ + 1, std::move(updates), slots};
  if (step.updates.empty()) return step;
  if (sabotaged("step_does_not_look"))
    kernels::write_slots(slots, std::vector<std::uint64_t>(step.updates.size(), 1));
  else
    look(step);
  return step;
}

void Optimiser::require_finite(const Step& step) const {
  if (step.updates.empty()) return;
  const auto slots = step.slots.read<std::uint64_t>();
  for (std::size_t i = 0; i < step.updates.size(); ++i)
    if (slots[static_cast<std::int64_t>(i)] == 0)
      throw Error("OPT-3", "step " + std::to_string(step.number) + " of " + kind_, "finite results",
                  quoted(step.updates[i].parameter.name) + " not finite; nothing was changed");
}

void Optimiser::count(const Step& step) {
  if (device_ != reference_device)
    for (const Update& update : step.updates) {
      Tensor(update.parameter.parameter->value()).count_write();
      for (const Pages& pages : update.state)
        for (Tensor page : pages) page.count_write();
    }
  step_count_ = step.number;
  if (sabotaged("step_drops_gradients")) zero_gradients();
}

void Optimiser::step(double learning_rate) {
  kernels::Record record(device_, static_cast<std::int64_t>(parameters_.size()));
  const Step step = prepared(learning_rate, record.all());
  require_finite(step);  // before the update: a read that failed behind it would leave the outcome open
  if (!step.updates.empty()) update(step);
  count(step);
}

Optimiser::PendingStep::PendingStep(Optimiser& optimiser, double learning_rate, const Tensor& slots)
    : optimiser_(optimiser), step_(optimiser.prepared(learning_rate, slots)) {
  if (!step_.updates.empty()) optimiser_.update(step_);
  if (sabotaged("pending_step_counts_at_once")) finish();
}

void Optimiser::PendingStep::finish() {
  if (!step_.updates.empty()) step_.slots.read<std::uint64_t>();  // when this fails, the destructor tries once more
  finished_ = true;
  optimiser_.require_finite(step_);
  optimiser_.count(step_);
}

Optimiser::PendingStep::~PendingStep() {
  if (finished_ || sabotaged("unfinished_step_is_lost")) return;
  try {
    finish();
  } catch (const Error&) {
  }
}

void Optimiser::zero_gradients() {
  for (const NamedParameter& entry : parameters_) entry.parameter->zero_gradient();
}

void Optimiser::to(Device device) {
  if (device == device_) return;
  Transfer transfer(device);
  for (Member& member : members_)
    for (Pages& pages : member.state)
      for (Tensor& page : pages) {
        if (sabotaged("transfer_forgets_the_state")) page = Tensor::zeros(page.shape(), device_);
        transfer.stage(page);
      }
  transfer.commit();
  device_ = device;
}

OptimiserState Optimiser::state() const {
  OptimiserState state{kind_, step_count_, {}, beta_powers(step_count_)};
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      state.tensors.push_back({slots_[slot].name + "." + parameters_[i].name,
                               joined(members_[i].state[slot], parameters_[i].parameter->value().shape())});
  return state;
}

void Optimiser::load_state(const OptimiserState& state) {
  auto require_same = [&](const std::string& what, const std::string& expected, const std::string& found) {
    if (expected != found && !sabotaged("state_unchecked"))
      throw Error("OPT-7", "load_state of " + kind_ + ", " + what, expected, found);
  };
  require_same("kind", quoted(kind_), quoted(state.kind));
  require_same("number of tensors", std::to_string(slots_.size() * parameters_.size()),
               std::to_string(state.tensors.size()));
  const std::vector<double> powers = beta_powers(state.step_count);
  if (!state.beta_powers.empty()) {
    require_same("number of beta powers", std::to_string(powers.size()), std::to_string(state.beta_powers.size()));
    for (std::size_t i = 0; i < powers.size(); ++i)
      require_same("beta power " + std::to_string(i) + " at step " + std::to_string(state.step_count),
                   text_of(powers[i]), text_of(state.beta_powers[i]));
  }
  std::vector<Member> next = members_;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const std::size_t index = i % parameters_.size(), slot = i / parameters_.size();
    const Shape& shape = parameters_[index].parameter->value().shape();
    const std::string& name = state.tensors[i].name;
    const Tensor& tensor = state.tensors[i].tensor;
    require_same("tensor " + std::to_string(i), quoted(slots_[slot].name + "." + parameters_[index].name),
                 quoted(name));
    auto description = [](Dtype dtype, const Shape& extents, Device device) {
      return std::string(name_of(dtype)) + " " + to_string(extents) + " on " + to_string(device);
    };
    require_same(quoted(name), description(real(device_), shape, device_),
                 tensor.defined() ? description(tensor.dtype(), tensor.shape(), tensor.device()) : "no value");
    require_same(quoted(name), "finite elements", kernels::finite(tensor) ? "finite elements" : "one that is not");
    bool negative = false, zero = true;
    with_type(tensor.dtype(), [&](auto element) {
      for (auto value : tensor.read<decltype(element)>()) {
        negative = negative || value < 0;
        zero = zero && value == 0;
      }
    });
    if (slots_[slot].non_negative)
      require_same(quoted(name), "no element below 0", negative ? "one below 0" : "no element below 0");
    if (state.step_count == 0) require_same(quoted(name) + " at step 0", "zeros", zero ? "zeros" : "other values");
    Member& member = sabotaged("load_writes_as_it_looks") ? members_[index] : next[index];
    auto page = member.state[slot].begin();
    for_each_page(shape, member.page_rows, [&](const Shape&, std::int64_t begin, std::int64_t end) {
      Tensor loaded = kernels::copy(part_of(tensor, begin, end)).keep();
      loaded.succeed(*page);
      *page++ = std::move(loaded);
    });
  }
  if (!sabotaged("load_writes_as_it_looks")) members_ = std::move(next);
  step_count_ = state.step_count;
}

}  // namespace assay
