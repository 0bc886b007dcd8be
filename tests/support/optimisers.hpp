// Small models for tests of optimisers, and the numbers that a step changes.
#pragma once

#include <bit>
#include <memory>

#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "support/observed.hpp"
#include "support/operation.hpp"

namespace assay::test {

using Make = std::unique_ptr<Optimiser> (*)(ParameterList);

inline const Make makers[] = {
    [](ParameterList list) -> std::unique_ptr<Optimiser> {
      return std::make_unique<Sgd>(list, SgdOptions{.momentum = 0.9});
    },
    [](ParameterList list) -> std::unique_ptr<Optimiser> {
      return std::make_unique<Adam>(list, AdamOptions{.weight_decay = 0.01, .decoupled = true});
    },
};

/// Three parameters, the second a strided view, with gradients that are a function of the step.
struct Model {
  std::vector<Parameter> made;
  ParameterList list;

  explicit Model(Device device) {
    const Shape shapes[] = {{33}, {130, 67}, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      Tensor value = drawn(shapes[i], i, -1, 1, device);
      made.emplace_back(device == reference_device ? value : strided(value));
    }
    for (std::size_t i = 0; i < 3; ++i) list.push_back({"p" + std::to_string(i), made[i].handle()});
  }
  void set_gradients(std::uint64_t step) {
    for (std::size_t i = 0; i < 3; ++i) {
      Device device = made[i].value().device();
      Tensor gradient = drawn(made[i].value().shape(), 10 * step + i, -1, 1, device);
      made[i].set_gradient(device != reference_device && step % 2 ? strided(gradient) : gradient);
    }
  }
  void train(Optimiser& optimiser, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step < to; ++step) {
      set_gradients(step);
      optimiser.step(0.01 + 0.001 * static_cast<double>(step));
    }
  }
};

using Bits = std::vector<std::vector<std::uint64_t>>;

/// The elements as float64, which widens every float32 exactly: equal on all devices.
inline std::vector<std::uint64_t> widened_bits(const Tensor& tensor) {
  std::vector<std::uint64_t> bits;
  for (double value : doubles(tensor)) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// Values of the parameters, then the optimiser's tensors.
inline Bits values_and_state(const Optimiser& optimiser) {
  Bits all;
  for (const NamedParameter& entry : optimiser.parameters()) all.push_back(widened_bits(entry.parameter->value()));
  for (const NamedTensor& entry : optimiser.state().tensors) all.push_back(widened_bits(entry.tensor));
  return all;
}

/// Versions in the same order.
inline std::vector<std::uint64_t> versions(const Optimiser& optimiser) {
  std::vector<std::uint64_t> all;
  for (const NamedParameter& entry : optimiser.parameters()) all.push_back(entry.parameter->value().version());
  for (const NamedTensor& entry : optimiser.state().tensors) all.push_back(entry.tensor.version());
  return all;
}

}  // namespace assay::test
