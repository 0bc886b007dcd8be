// The loop around a training: files, validation, checkpoints, interrupts, progress.
#include "harness/run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "checkpoint/run_file.hpp"
#include "checkpoint/tensor_file.hpp"
#include "device/counters.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "harness/progress.hpp"
#include "harness/provenance.hpp"
#include "harness/training.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

/// While one exists, the first SIGINT or SIGTERM asks the run to end after its step; a second one ends the process.
class InterruptScope {
 public:
  InterruptScope() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = !sabotaged("interrupts_are_forgotten"); };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~InterruptScope() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_int_, before_term_;
};

/// The first runs/NNNN that does not exist.
std::string next_folder() {
  for (int number = 1;; ++number) {
    char name[32];
    std::snprintf(name, sizeof name, "runs/%04d", number);
    if (!fs::exists(name)) return name;
  }
}

/// Keys that may differ between the parts of one run: where it runs, never what it computes.
bool may_differ_on_resume(const std::string& key) { return key == "run.device" || key == "run.threads"; }

void require_same_experiment(const std::string& folder, const std::string& before, const std::string& now) {
  const auto a = nlohmann::json::parse(before), b = nlohmann::json::parse(now);
  const auto defaults = nlohmann::json::parse(resolved_json(Configuration{}));  // of keys that are younger than the run
  for (const auto& [key, value] : b.items()) {
    if (may_differ_on_resume(key)) continue;
    const std::string then = (a.contains(key) ? a : defaults).at(key).dump();
    if (then != value.dump())
      throw Error("CMP-4", "resume of " + folder, key + " = " + then + ", as the run has it", value.dump());
  }
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

/// One run: from the state that its folder holds to its end or an interrupt.
class Run {
 public:
  Run(const Configuration& configuration, const Datasets& data, const std::string& folder)
      : configuration_(configuration), data_(data), folder_(folder), training_(configuration, data) {}

  RunOutcome execute(bool resume, const std::string& command_line) {
    InterruptScope interrupts;
    RunWriter writer = open(resume, command_line);
    start_ = last_segment_ = Clock::now();
    Progress progress(training_.total_steps(), training_.step());
    progress.say(headline());
    while (training_.step() < training_.total_steps() && !interrupted) {
      std::string shown = advance(writer);
      progress.show(training_.step(), shown);
      bool improved = validate(writer, progress);
      if (improved || checkpoint_due())
        save(writer);
      else if (Clock::now() - last_segment_ > std::chrono::seconds(60))
        close_segment(writer);
    }
    return training_.step() < training_.total_steps() ? stop(writer, progress) : finish(writer, progress);
  }

 private:
  RunWriter open(bool resume, const std::string& command_line) {
    if (resume && holds_run(folder_)) {
      RunWriter writer = RunWriter::reopen(folder_);
      require_same_experiment(folder_, writer.description().configuration.resolved, resolved_json(configuration_));
      require_same_data(folder_, writer.description().provenance, data_);
      LatestCheckpoint latest = latest_checkpoint(checkpoints());
      for (const RefusedFile& refused : latest.refused)
        std::fprintf(stderr, "assay: skipping a checkpoint: %s\n", refused.reason.c_str());
      if (latest.checkpoint) restore(latest.path, *latest.checkpoint);
      std::fprintf(
          stderr, "%s\n",
          latest.checkpoint ? ("resuming from " + latest.path).c_str() : "no checkpoint to resume from: starting over");
      writer.truncate_to(training_.step());
      return writer;
    }
    RunDescription description{configuration_text(), provenance(configuration_, data_, command_line),
                               training_.names()};
    return RunWriter::create(folder_, std::move(description));
  }

  ConfigurationText configuration_text() const {
    return {configuration_.text,
            sabotaged("overrides_are_lost") ? std::vector<std::string>{} : configuration_.overrides,
            resolved_json(configuration_)};
  }

  bool is_exact() const { return configuration_.run.numerics == "exact"; }

  std::string checkpoints() const { return folder_ + "/checkpoints"; }

  std::string headline() const {
    std::int64_t trained = 0;
    for (const NamedParameter& entry : training_.parameters()) trained += entry.parameter->value().size();
    return configuration_.experiment.name + ": " + std::to_string(trained) +
           (configuration_.adapter.layers.empty() ? "" : " trained") + " parameters, " +
           std::to_string(data_.train.count) + " samples, " + std::to_string(training_.total_steps()) + " steps on " +
           configuration_.run.device + " (" + std::to_string(threads()) + (threads() == 1 ? " thread" : " threads") +
           (is_exact() ? "" : ", numerics " + configuration_.run.numerics) + "), into " + folder_;
  }

  std::string advance(RunWriter& writer) {
    Clock::time_point before = Clock::now();
    try {
      StepRow row = training_.advance();
      row.seconds = std::chrono::duration<double>(Clock::now() - before).count();
      writer.append(row);
      if (!row.tensors.empty()) save_tensors(tensor_path(folder_, row.step), row.step, row.tensors);
      return "epoch " + std::to_string(row.epoch) + "  loss " + short_number(row.loss);
    } catch (const Error&) {
      writer.interrupt();  // keeps the steps up to the one that failed
      throw;
    }
  }

  std::uint64_t validation_interval() const {
    auto every = static_cast<std::uint64_t>(configuration_.train.validate_every);
    return every ? every : training_.steps_per_epoch();
  }

  /// True when this validation is the best so far and a checkpoint is to be kept of it.
  bool validate(RunWriter& writer, Progress& progress) {
    bool last = training_.step() == training_.total_steps();
    if (data_.validation.count == 0 || (training_.step() % validation_interval() != 0 && !last)) return false;
    Evaluation now = training_.evaluate(data_.validation);
    writer.append(ValidationRow{training_.step(), now.loss, now.accuracy});
    progress.say("step " + std::to_string(training_.step()) + ": validation loss " + short_number(now.loss) +
                 ", accuracy " + short_number(now.accuracy));
    if (best_step_ && now.accuracy <= best_accuracy_) return false;
    best_step_ = training_.step();
    best_accuracy_ = now.accuracy;
    return configuration_.checkpoint.keep_best;
  }

  bool checkpoint_due() const {
    auto every = static_cast<std::uint64_t>(configuration_.checkpoint.every);
    return training_.step() == training_.total_steps() || (every && training_.step() % every == 0);
  }

  void close_segment(RunWriter& writer) {
    writer.close_segment();
    last_segment_ = Clock::now();
  }

  // The rows first: a checkpoint never stands for steps that no file holds.
  void save(RunWriter& writer) {
    close_segment(writer);
    Checkpoint state = training_.checkpoint();
    state.configuration = configuration_text();
    state.train["best_step"] = best_step_;
    state.train["best_accuracy"] = best_accuracy_;
    save_checkpoint(checkpoint_path(checkpoints(), training_.step()), state);
    bool keep_best = configuration_.checkpoint.keep_best && best_step_;
    retain(checkpoints(), static_cast<std::uint64_t>(configuration_.checkpoint.keep),
           keep_best ? std::optional(best_step_) : std::nullopt);
    saved_step_ = training_.step();
  }

  void restore(const std::string& path, const Checkpoint& state) {
    try {
      best_step_ = entry_of<std::uint64_t>(state.train, "best_step");
      best_accuracy_ = entry_of<double>(state.train, "best_accuracy");
      training_.restore(state);
    } catch (const Error& error) {
      throw Error(error.id(), path + ": " + error.operation(), error.expected(), error.found());
    }
    saved_step_ = training_.step();
  }

  RunOutcome stop(RunWriter& writer, Progress& progress) {
    if (training_.step() > saved_step_ && !sabotaged("interrupts_save_nothing")) save(writer);
    writer.interrupt();
    progress.say("stopped after step " + std::to_string(training_.step()) + "; go on with: assay run " + folder_ +
                 " --resume");
    return {.folder = folder_, .status = "interrupted", .steps = training_.step()};
  }

  RunOutcome finish(RunWriter& writer, Progress& progress) {
    Evaluation test = training_.evaluate(data_.test);
    double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    RunResult result{training_.step(), test.loss, test.accuracy, training_.parameters_digest(), seconds};
    writer.finish(result);
    progress.say("test loss " + short_number(test.loss) + ", accuracy " + short_number(test.accuracy) +
                 ", parameters " + result.parameters_digest.substr(0, 16));
    return {folder_, "complete", result.steps, test.loss, test.accuracy, result.parameters_digest, {}};
  }

  const Configuration& configuration_;
  const Datasets& data_;
  std::string folder_;
  Training training_;
  std::uint64_t best_step_ = 0, saved_step_ = 0;
  double best_accuracy_ = 0;
  Clock::time_point start_, last_segment_;
};

}  // namespace

RunOutcome run_experiment(const RunRequest& request) {
  bool from_folder = fs::is_directory(request.source);
  std::string folder = !request.out.empty()            ? request.out
                       : request.resume && from_folder ? request.source
                                                       : next_folder();

  Configuration configuration;
  RunDescription before;
  if (from_folder) {
    before = read_head(request.source).description;
    const ConfigurationText& text = before.configuration;
    std::vector<std::string> overrides = text.overrides;
    overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
    configuration = parse_configuration(text.toml, request.source + "/run.h5", overrides);
  } else {
    configuration = load_configuration(request.source, request.overrides);
  }
  if (configuration.run.threads > 0) set_threads(static_cast<int>(configuration.run.threads));
  set_tf32(configuration.run.tf32);

  Datasets data = load_inputs(configuration);
  require_same_data(request.source, before.provenance, data);
  RunOutcome outcome = Run(configuration, data, folder).execute(request.resume, request.command_line);
  outcome.numerics = configuration.run.numerics;
  outcome.peak_bytes = device_counters(parse_device(configuration.run.device)).peak_bytes;
  if (from_folder && folder != request.source && !sabotaged("repeats_are_not_compared"))
    outcome.repeats = request.source;
  return outcome;
}

}  // namespace assay
