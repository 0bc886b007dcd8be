// One training step: shards forward and backward, their sum, clipping, the update, and the record of it.
#include "harness/training.hpp"

#include <algorithm>

#include "autograd/ops.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/pass.hpp"
#include "harness/perturbation.hpp"
#include "kernels/count_correct.hpp"
#include "kernels/digest.hpp"
#include "kernels/item.hpp"
#include "models/stored_tensor.hpp"
#include "nn/shard_scope.hpp"
#include "numerics/digest.hpp"
#include "numerics/hypothesis.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"

namespace assay {
namespace {

std::unique_ptr<Optimiser> make_optimiser(const Configuration::Optimiser& options, const ParameterList& parameters) {
  if (options.kind == "sgd")
    return std::make_unique<Sgd>(parameters, SgdOptions{options.momentum, options.nesterov, options.weight_decay});
  return std::make_unique<Adam>(parameters, AdamOptions{options.beta1, options.beta2, options.epsilon,
                                                        options.weight_decay, options.kind == "adamw"});
}

std::uint64_t steps_of(const Configuration& configuration, const Sampler& sampler) {
  const auto& train = configuration.train;
  return static_cast<std::uint64_t>(train.steps ? train.steps : train.epochs * sampler.steps_per_epoch());
}

Schedule make_schedule(const Configuration& configuration, const Sampler& sampler) {
  const auto& options = configuration.schedule;
  return Schedule({options.kind, configuration.optimiser.learning_rate, steps_of(configuration, sampler),
                   static_cast<std::uint64_t>(options.period), options.factor, options.warmup, options.start,
                   options.minimum});
}

/// The scalar of a checkpoint that holds β1ᵗ, or β2ᵗ.
std::string beta_power_name(std::size_t index) { return "beta" + std::to_string(index + 1) + "_power"; }

/// Errors: FILE-3 unless a checkpoint has what the training has.
void require_same(const std::string& what, const std::string& expected, const std::string& found) {
  if (expected != found && !sabotaged("checkpoints_of_others_are_taken")) throw Error("FILE-3", what, expected, found);
}

std::string text_of(const std::map<std::string, std::string>& aliases) {
  std::string text;
  for (const auto& [alias, owner] : aliases) text += (text.empty() ? "" : ", ") + alias + " is " + owner;
  return text.empty() ? "none" : text;
}

/// A stored value that has the type and shape of the tensor that it is to replace. Errors: FILE-3.
Tensor fitting(const std::string& name, const Array& array, const Tensor& like) {
  std::string expected = std::string(name_of(like.dtype())) + " " + to_string(like.shape());
  std::string found = std::string(element_name(array.type)) + " " + shape_text(array.shape);
  require_same(name, expected, found);
  return tensor_of(array, like.device()).keep();
}

}  // namespace

Training::Training(const Configuration& configuration, const Datasets& data)
    : configuration_(configuration),
      data_(data),
      device_(parse_device(configuration.run.device)),
      profile_(parse_profile(configuration.run.numerics)),
      random_(static_cast<std::uint64_t>(configuration.experiment.seed)),
      model_(make_model(configuration, data.train, random_)),
      parameters_((perturb(model_.trained(), configuration), model_.module->to(device_), model_.trained())),
      optimiser_(make_optimiser(configuration.optimiser, parameters_)),
      trace_level_(parse_trace_level(configuration.trace.level)),
      sampler_(stream_key(random_.seed(), "data.order"), data.train.count, configuration.train.batch),
      schedule_(make_schedule(configuration, sampler_)) {}

std::uint64_t Training::total_steps() const { return steps_of(configuration_, sampler_); }

RunNames Training::names() const {
  RunNames names;
  if (trace_level_ == TraceLevel::none) return names;
  for (const NamedParameter& entry : parameters_) names.parameters.push_back(entry.name);
  for (const NamedTensor& entry : optimiser_->state().tensors) names.optimiser.push_back(entry.name);
  names.masks = model_.masks;
  return names;
}

/// Samples begin … end − 1 of a batch.
Tensor Training::samples(const Batch& batch, std::int64_t begin, std::int64_t end) const {
  const std::int64_t features = data_.train.features;
  const Shape shape{end - begin, features};
  const auto first = static_cast<std::size_t>(begin * features), count = static_cast<std::size_t>(shape.size());
  if (batch.tokens.empty()) return Tensor::from(std::span(batch.inputs).subspan(first, count), shape, device_);
  return Tensor::from(std::span(batch.tokens).subspan(first, count), shape, device_);
}

Variable Training::loss_of(const Variable& logits, std::span<const std::int32_t> labels, std::int64_t count) const {
  std::int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  if (configuration_.loss.kind == "cross_entropy")
    return cross_entropy(logits, Tensor::from(labels, {rows}, device_),
                         {.label_smoothing = configuration_.loss.label_smoothing, .count = count});
  std::vector<float> one_hot(static_cast<std::size_t>(rows * classes));
  for (std::size_t row = 0; row < labels.size(); ++row)
    one_hot[row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[row])] = 1;
  return mean_squared_error(logits, Tensor::from(one_hot, logits.shape(), device_), count * classes);
}

void Training::set_draws(const std::vector<std::uint64_t>& draws) {
  for (std::size_t i = 0; i < draws.size(); ++i) random_.streams()[i]->set_draws(draws[i]);
}

/// The sum over the shards of a batch, all of which are one draw of each stream. Mask digests and trace go into the
/// row.
ShardResult Training::gradients_of(const Batch& batch, const std::vector<std::uint64_t>& draws, StepTrace& trace,
                                   StepRow& row) {
  const std::int64_t labels_each = data_.train.labels_per_sample;
  const auto all = static_cast<std::int64_t>(batch.labels.size());
  std::map<std::string, std::uint64_t> mask_digests;
  ShardSum sum(configuration_.train.shards);
  for (std::int64_t shard = 0; shard < configuration_.train.shards; ++shard) {
    trace.begin_shard(static_cast<std::size_t>(shard));
    set_draws(draws);
    auto [begin, end] = rows_of_shard(all / labels_each, configuration_.train.shards, shard);
    ShardScope scope(begin, trace_level_ == TraceLevel::none ? nullptr : &mask_digests);
    Variable logits = model_.forward(samples(batch, begin, end));
    std::span<const std::int32_t> labels(batch.labels.data() + begin * labels_each,
                                         static_cast<std::size_t>((end - begin) * labels_each));
    Variable loss = loss_of(logits, labels, all);
    loss.backward();
    ShardResult result{loss.value(), {}};
    for (const NamedParameter& entry : parameters_) {
      result.gradients.push_back(entry.parameter->gradient());
      entry.parameter->zero_gradient();
    }
    for (std::size_t i = 0; i < parameters_.size() && configuration_.train.shards > 1; ++i)
      TraceScope::tell({"gradients", parameters_[i].name, "shard", -1, result.gradients[i]});
    sum.add(std::move(result));
  }
  if (trace_level_ != TraceLevel::none)
    for (const std::string& name : model_.masks) row.masks.push_back(mask_digests[name]);
  ShardResult total = sum.total();
  trace.begin_shard(0);
  if (configuration_.train.shards > 1)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      TraceScope::tell({"gradients", parameters_[i].name, "sum_of_shards", -1, total.gradients[i]});
  return total;
}

StepRow Training::advance() {
  ProfileScope profile(profile_);
  std::optional<ArithmeticScope> planted;
  if (sabotaged("training_is_contracted")) planted.emplace(Arithmetic{.contracted = true});
  StepRow row;
  row.step = step_ + 1;
  PassScope pass("step " + std::to_string(row.step));
  const auto number = static_cast<std::int64_t>(row.step);
  std::span<const std::int64_t> ids = sampler_.batch(number);
  row.epoch = static_cast<std::uint64_t>(sampler_.place(number).epoch);
  row.learning_rate = schedule_.learning_rate(step_);

  std::vector<std::uint64_t> draws;
  for (const auto& stream : random_.streams()) draws.push_back(stream->draws());
  const std::uint64_t taken = optimiser_->step_count();
  StepTrace trace(device_, trace_level_, configuration_.trace.tensors, traced_, observer_);
  try {
    const ShardResult total = gradients_of(gather(data_.train, ids), draws, trace, row);
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].parameter->set_gradient(total.gradients[i]);

    // The record: loss, its digest, and of each parameter Σg², whether its update is finite, and digests.
    std::vector<Tensor> digested;
    const bool digests_wanted = trace_level_ != TraceLevel::none;
    if (digests_wanted) {
      for (const NamedParameter& entry : parameters_) digested.push_back(entry.parameter->value());
      for (const NamedTensor& entry : optimiser_->state().tensors) digested.push_back(entry.tensor);
    }
    const auto count = static_cast<std::int64_t>(parameters_.size());
    const std::int64_t squares = 2, flags = squares + count, digests = flags + count;
    const auto values = static_cast<std::int64_t>(digested.size());
    kernels::Record record(device_, digests + values + count);
    kernels::item(total.loss, record.slot(0));
    GradientNorm norm(parameters_, record.slots(squares, flags));
    if (sabotaged("norm_is_read_early")) norm.value();
    if (configuration_.train.clip_norm > 0) norm.clip(configuration_.train.clip_norm);
    for (const NamedParameter& entry : parameters_) trace.tell("gradients", entry.name, entry.parameter->gradient());
    Optimiser::PendingStep step(*optimiser_, row.learning_rate, record.slots(flags, digests));
    if (digests_wanted) {
      kernels::digest(total.loss, record.slot(1));
      for (const NamedParameter& entry : parameters_) digested.push_back(entry.parameter->gradient());
      for (std::size_t i = 0; i < digested.size(); ++i)
        kernels::digest(digested[i], record.slot(digests + static_cast<std::int64_t>(i)));
    }
    row.gradient_norm = norm.value();
    step.finish();
    for (const NamedTensor& entry : optimiser_->state().tensors) trace.tell("optimiser", entry.name, entry.tensor);
    for (const NamedParameter& entry : parameters_) trace.tell("parameters", entry.name, entry.parameter->value());
    trace.finish(row);
    traced_ = row.trace.size();

    row.loss = record.number(0);
    if (digests_wanted) {
      row.loss_digest = record.bits(1);
      for (std::size_t i = 0; i < ids.size(); ++i)
        row.ids_digest += numerics::digest_element(i, static_cast<std::uint64_t>(ids[i]));
      for (std::int64_t i = 0; i < values + count; ++i)
        (i < count ? row.parameters : i < values ? row.optimiser : row.gradients).push_back(record.bits(digests + i));
    }
  } catch (...) {
    optimiser_->zero_gradients();
    if (optimiser_->step_count() == taken && !sabotaged("failed_step_keeps_its_draws"))
      set_draws(draws);
    else
      step_ = row.step;
    throw;
  }
  step_ = row.step;
  optimiser_->zero_gradients();
  return row;
}

Evaluation Training::evaluate(const Dataset& set) const {
  ProfileScope profile(profile_);
  EvalScope evaluation;
  NoGradScope no_gradient;
  Evaluation result;
  std::int64_t correct = 0;
  for (std::int64_t begin = 0; begin < set.count; begin += configuration_.train.evaluation_batch) {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = begin; id < std::min(set.count, begin + configuration_.train.evaluation_batch); ++id)
      ids.push_back(id);
    PassScope pass("evaluation from sample " + std::to_string(begin));
    Batch batch = gather(set, ids);
    const auto labels = static_cast<std::int64_t>(batch.labels.size());
    Variable logits = model_.forward(samples(batch, 0, static_cast<std::int64_t>(ids.size())));
    result.loss += loss_of(logits, batch.labels, labels).value().item() * static_cast<double>(labels);
    correct += kernels::count_correct(logits.value(), Tensor::from(batch.labels, {labels}, device_));
  }
  result.loss /= static_cast<double>(set.labels.size());
  result.accuracy = static_cast<double>(correct) / static_cast<double>(set.labels.size());
  return result;
}

Checkpoint Training::checkpoint() const {
  Checkpoint state;
  state.step = step_;
  state.device = to_string(device_);
  for (const NamedParameter& entry : parameters_) {
    const Tensor& value = entry.parameter->value();
    state.parameters.push_back({entry.name, array_of(value), "", value.version(), kernels::digest(value)});
  }
  state.aliases = aliases();
  OptimiserState optimiser = optimiser_->state();
  state.optimiser_kind = optimiser.kind;
  state.optimiser_scalars["step_count"] = optimiser.step_count;
  for (std::size_t i = 0; i < optimiser.beta_powers.size(); ++i)
    state.optimiser_scalars[beta_power_name(i)] = optimiser.beta_powers[i];
  for (const NamedTensor& entry : optimiser.tensors)
    state.optimiser_arrays.push_back({entry.name, array_of(entry.tensor)});
  for (const auto& stream : random_.streams()) {
    state.random_streams.push_back(stream->name());
    state.random_draws.push_back(stream->draws());
  }
  for (const auto& [name, value] : place_after(step_)) state.train[name] = value;
  return state;
}

std::map<std::string, std::string> Training::aliases() const {
  std::map<std::string, std::string> names;
  for (const ParameterAlias& entry : model_.module->aliases()) names[entry.alias] = entry.owner;
  return names;
}

/// What tells which samples come next.
std::map<std::string, std::uint64_t> Training::place_after(std::uint64_t step) const {
  Sampler::Place place = sampler_.place(static_cast<std::int64_t>(step) + 1);
  return {{"seed", static_cast<std::uint64_t>(configuration_.experiment.seed)},
          {"epoch", static_cast<std::uint64_t>(place.epoch)},
          {"position", static_cast<std::uint64_t>(place.position)}};
}

void Training::restore(const Checkpoint& state) {
  require_same("number of parameters", std::to_string(parameters_.size()), std::to_string(state.parameters.size()));
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    require_same("parameter " + std::to_string(i), "\"" + parameters_[i].name + "\"",
                 "\"" + state.parameters[i].name + "\"");
    values.push_back(fitting(parameters_[i].name, state.parameters[i].value, parameters_[i].parameter->value()));
    if (sabotaged("restore_writes_as_it_looks")) parameters_[i].parameter->replace_value(values[i]);
  }
  require_same("tied parameters", text_of(aliases()), text_of(state.aliases));
  const auto& streams = random_.streams();
  require_same("number of random streams", std::to_string(streams.size()), std::to_string(state.random_streams.size()));
  require_same("number of random draws", std::to_string(streams.size()), std::to_string(state.random_draws.size()));
  for (std::size_t i = 0; i < streams.size(); ++i)
    require_same("random stream " + std::to_string(i), "\"" + streams[i]->name() + "\"",
                 "\"" + state.random_streams[i] + "\"");
  if (state.step > total_steps())
    throw Error("FILE-3", "step", "at most " + std::to_string(total_steps()), std::to_string(state.step));
  for (const auto& [name, value] : place_after(state.step))
    require_same(name + " of step " + std::to_string(state.step), std::to_string(value),
                 std::to_string(entry_of<std::uint64_t>(state.train, name)));

  OptimiserState optimiser = optimiser_->state();
  require_same("number of optimiser tensors", std::to_string(optimiser.tensors.size()),
               std::to_string(state.optimiser_arrays.size()));
  optimiser.kind = state.optimiser_kind;
  optimiser.step_count = entry_of<std::uint64_t>(state.optimiser_scalars, "step_count");
  optimiser.beta_powers.clear();  // older files have none
  for (std::size_t i = 0; state.optimiser_scalars.count(beta_power_name(i)) > 0; ++i)
    optimiser.beta_powers.push_back(entry_of<double>(state.optimiser_scalars, beta_power_name(i)));
  for (std::size_t i = 0; i < optimiser.tensors.size(); ++i) {
    NamedTensor& entry = optimiser.tensors[i];
    entry = {state.optimiser_arrays[i].name,
             fitting(state.optimiser_arrays[i].name, state.optimiser_arrays[i].array, entry.tensor)};
  }

  // The last that can fail, and it changes nothing then.
  if (!sabotaged("resume_forgets_the_moments")) optimiser_->load_state(optimiser);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].parameter->replace_value(values[i]);
  for (std::size_t i = 0; i < streams.size() && !sabotaged("resume_forgets_the_draws"); ++i)
    streams[i]->set_draws(state.random_draws[i]);
  step_ = state.step;
}

}  // namespace assay
