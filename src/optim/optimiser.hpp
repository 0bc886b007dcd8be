// Optimiser: what SGD, Adam and AdamW have in common; steps that happen for all parameters or for none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/parameter.hpp"

namespace assay {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// All that an optimiser's next step reads besides parameters, gradients and hyperparameters.
struct OptimiserState {
  std::string kind;                  ///< "sgd", "adam" or "adamw"
  std::uint64_t step_count = 0;      ///< steps taken
  std::vector<NamedTensor> tensors;  ///< "first_moment.fc1.weight", …: slot by slot, in list order
  /// β1ᵗ and β2ᵗ at that step, group by group, so that a state is not taken up under other decays; empty where they are
  /// not known.
  std::vector<double> beta_powers = {};
};

/// Parameters that an optimiser treats by settings of their own.
template <class Options>
struct ParameterGroup {
  ParameterList parameters;
  Options options;
};

/// Updates a list of parameters from their gradients. It holds the parameters, so it outlives their module (OPT-10),
/// and reads gradients without writing them (OPT-4).
///
/// A parameter without a pending gradient is skipped: neither its weight decays nor its state changes. (A gradient of
/// zeros is a gradient: the parameter is updated.) A frozen one is refused, or, with `skip_frozen`, skipped. All
/// parameters share one step count. Groups are joined in order to one list; each uses its own settings, and its
/// learning rate is the step's times its `rate_factor`.
///
/// Errors of the constructors: OPT-1 for a list or group that is empty, and for a list that is spread over devices or
/// holds an empty or repeated name, a null, a parameter twice or a value that is not finite; LIFE-11 for a frozen
/// parameter; OPT-2 for a hyperparameter outside its range.
///
///     Adam optimiser(model.parameters(), {.weight_decay = 0.01, .decoupled = true});
///     loss.backward();
///     optimiser.step(schedule.learning_rate(optimiser.step_count()));
///     optimiser.zero_gradients();
class Optimiser {
 public:
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  virtual ~Optimiser() = default;

  /// One update, of all parameters or, on any error, of nothing (OPT-3): a first pass computes every result and looks
  /// whether it is finite, a second computes them again and writes. Each written tensor's version rises by one.
  /// Errors: OPT-2 for a learning rate that is negative or not finite; OPT-3 naming the first parameter with a result
  /// that is not finite; XFER-9 for a parameter that is not on this optimiser's device, naming both; LIFE-11 for one
  /// that was frozen since.
  void step(double learning_rate);
  /// Drops every pending gradient.
  void zero_gradients();
  /// Moves the state to a device, all of it or, on any error, nothing; the parameters move by `Module::to` or
  /// `move_parameters_to`. A step is refused while the two are apart (XFER-9).
  ///
  ///     model.to(device);
  ///     optimiser.to(device);
  void to(Device device);

  const std::string& kind() const { return kind_; }
  /// Steps that succeeded (OPT-5).
  std::uint64_t step_count() const { return step_count_; }
  const ParameterList& parameters() const { return parameters_; }

  /// The state as it is now, the same for every page size. Tensors of one page are the live ones, into which later
  /// steps write; more pages are joined in a copy.
  OptimiserState state() const;
  /// Copies a state, so that the next step has the bits that it would have had where the state came from. The tensors
  /// must be on this optimiser's device. On any error nothing has changed.
  /// Errors: OPT-7 for another kind, another number, name, shape, type or device of a tensor, an element that is not
  /// finite, a negative second moment, tensors that are not zero at step 0, or powers that are not those of the own
  /// decays at that step.
  void load_state(const OptimiserState& state);

 protected:
  /// A tensor that is kept for each parameter, at first zeros.
  struct Slot {
    std::string name;
    bool non_negative;
  };
  /// The parameters of a group and how many elements a page of their state has at most; 0: as many as the parameter.
  struct Group {
    ParameterList parameters;
    std::int64_t page;
    bool skip_frozen;
  };
  Optimiser(std::string kind, std::vector<Group> groups, std::vector<Slot> slots);

  /// The rows of a parameter's state in order, in pieces.
  using Pages = std::vector<Tensor>;
  /// One parameter's part of a step.
  struct Update {
    const NamedParameter& parameter;
    std::size_t group;
    const std::vector<Pages>& state;  ///< by slot
  };
  /// What a step does; `number` counts from 1. Its slots hold a 1 for each update with finite results.
  struct Step {
    double learning_rate;
    std::uint64_t number;
    std::vector<Update> updates;
    Tensor slots;
  };
  /// Throws OPT-2 naming `hyperparameter` unless `valid`.
  void require(bool valid, const char* hyperparameter, const char* expected, double found) const;
  /// The same for a factor that must shrink what it multiplies, for one that is finite and not negative.
  void require_decay(const char* hyperparameter, double found) const;
  void require_factor(const char* hyperparameter, double found) const;

 public:
  /// A step whose outcome the host learns later, together with other numbers of the device: the device itself looks
  /// whether all results are finite and writes only then. What is launched until `finish` sees the new values; nobody
  /// may read them on the host before.
  ///
  ///     Optimiser::PendingStep step(optimiser, rate, record.slots(0, count));
  ///     kernels::digest(w, record.slot(count));  // of the new value
  ///     step.finish();                           // the first download
  class PendingStep {
   public:
    /// `slots` are those of a kernels::Record on the optimiser's device, at least one for each parameter.
    /// Errors: those of `step` but OPT-3.
    PendingStep(Optimiser& optimiser, double learning_rate, const Tensor& slots);
    /// One that was not finished is finished without a word.
    ~PendingStep();
    PendingStep(const PendingStep&) = delete;
    PendingStep& operator=(const PendingStep&) = delete;
    /// Counts the step and its writes. Errors: OPT-3 naming the first parameter with a result that is not finite;
    /// nothing has changed then.
    void finish();

   private:
    Optimiser& optimiser_;
    Step step_;
    bool finished_ = false;
  };

 private:
  /// Fills the slots.
  virtual void look(const Step& step) const = 0;
  /// Writes values and states if every slot holds a 1, else nothing. The writes are counted later, except on the
  /// reference device.
  virtual void update(const Step& step) const = 0;
  virtual std::vector<double> beta_powers(std::uint64_t step) const = 0;

  /// Errors: LIFE-11 for a frozen parameter that is not to be skipped.
  void require_trained(std::size_t index, const std::string& operation) const;
  /// Validates, and looks.
  Step prepared(double learning_rate, const Tensor& slots);
  /// Reads the slots. Errors: OPT-3.
  void require_finite(const Step& step) const;
  void count(const Step& step);

  /// What belongs to a parameter.
  struct Member {
    std::size_t group;
    bool skip_frozen;
    std::int64_t page_rows;
    std::vector<Pages> state;  // by slot
  };

  std::string kind_;
  ParameterList parameters_;
  std::vector<Slot> slots_;
  Device device_;
  std::vector<Member> members_;  // one a parameter
  std::uint64_t step_count_ = 0;
};

}  // namespace assay
