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
};

/// Updates a list of parameters from their gradients. It holds the parameters, so it outlives their module (OPT-10),
/// and reads gradients without writing them (OPT-4).
///
/// A parameter without a pending gradient is skipped: neither its weight decays nor its state changes. (A gradient of
/// zeros is a gradient: the parameter is updated.) All parameters share one step count.
///
/// Errors of the constructors: OPT-1 for a list that is empty, spread over devices or holds an empty or repeated name,
/// a null, a parameter twice or a value that is not finite; OPT-2 for a hyperparameter outside its range.
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
  /// that is not finite; XFER-9 for a parameter that moved to another device.
  void step(double learning_rate);
  /// Drops every pending gradient.
  void zero_gradients();

  const std::string& kind() const { return kind_; }
  /// Steps that succeeded (OPT-5).
  std::uint64_t step_count() const { return step_count_; }
  const ParameterList& parameters() const { return parameters_; }

  /// The state as it is: the tensors are the live ones, into which later steps write.
  OptimiserState state() const;
  /// Copies a state, so that the next step has the bits that it would have had where the state came from. The tensors
  /// must be on the parameters' device. Everything is checked before anything is written.
  /// Errors: OPT-7 for another kind, another number, name, shape, type or device of a tensor, an element that is not
  /// finite, a negative second moment, or tensors that are not zero at step 0.
  void load_state(const OptimiserState& state);

 protected:
  /// A tensor that is kept for each parameter, at first zeros.
  struct Slot {
    std::string name;
    bool non_negative;
  };
  Optimiser(std::string kind, ParameterList parameters, std::vector<Slot> slots);

  /// One parameter's part of a step.
  struct Update {
    const Tensor& value;
    const std::vector<Tensor>& state;  ///< one a slot
    Tensor gradient;
    double learning_rate;
    std::uint64_t step;  ///< from 1
  };
  /// Throws OPT-2 naming `hyperparameter` unless `valid`.
  void require(bool valid, const char* hyperparameter, const char* expected, double found) const;
  /// The same for a factor that must shrink what it multiplies, and for λ.
  void require_decay(const char* hyperparameter, double found) const;
  void require_weight_decay(double found) const;

 private:
  virtual bool is_finite(const Update& update) const = 0;
  virtual void apply(const Update& update) const = 0;

  std::string kind_;
  ParameterList parameters_;
  std::vector<Slot> slots_;
  Device device_;
  std::vector<std::vector<Tensor>> state_;  // by parameter, then slot
  std::uint64_t step_count_ = 0;
};

}  // namespace assay
