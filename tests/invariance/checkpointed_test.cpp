// A training whose blocks are checkpointed has the bits of the plain one.
#include "autograd/checkpoint.hpp"
#include "autograd/ops.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// x + down(dropout(gelu(up(x)))), twice over the same parameters, and a classifier.
class Blocks final : public Module {
 public:
  explicit Blocks(const Random& random)
      : up_(9, 21, random["up"]), down_(21, 9, random["down"]), out_(9, 4, random["out"]), drop_(0.3, random["drop"]) {
    register_module("up", up_);
    register_module("down", down_);
    register_module("out", out_);
    register_module("drop", drop_);
  }
  Variable forward(const Variable& x, bool checkpointed) const {
    Segment block = [this](const std::vector<Variable>& in) {
      return add(in[0], down_.forward(drop_.forward(gelu(up_.forward(in[0])))));
    };
    Variable hidden = tanh(x);
    for (int i = 0; i < 2; ++i) {
      std::vector<Variable> dependencies{hidden};
      for (const Module* layer : {static_cast<const Module*>(&up_), static_cast<const Module*>(&down_)})
        for (const NamedParameter& entry : layer->parameters()) dependencies.push_back(entry.parameter->variable());
      hidden = multiply(checkpointed ? checkpoint(block, dependencies) : block(dependencies), hidden);
    }
    return out_.forward(hidden);
  }

 private:
  Linear up_, down_, out_;
  Dropout drop_;
};

}  // namespace

CONTRACT(NUM_10_a_checkpointed_training_has_the_bits_of_the_plain_one_at_every_step) {
  struct Trained {
    std::vector<Tensor> losses;
    std::vector<Bits> states;
    std::uint64_t draws;
  };
  auto train = [device](bool checkpointed) {
    Random random(11);
    Blocks model(random);
    model.to(device);
    Adam optimiser(model.parameters(), {.weight_decay = 0.1, .decoupled = true});
    Trained result;
    for (std::uint64_t step = 0; step < 6; ++step) {
      const Tensor classes = Tensor::from(std::vector<std::int32_t>{0, 3, 1, 2, 3}, {5}, device);
      Variable loss = cross_entropy(model.forward(drawn({5, 9}, step, device), checkpointed), classes);
      loss.backward();
      result.losses.push_back(loss.value());
      optimiser.step(0.01);
      optimiser.zero_gradients();
      result.states.push_back(values_and_state(optimiser));
    }
    result.draws = random.streams().back()->draws();
    return result;
  };
  const Trained plain = train(false), checkpointed = train(true);
  for (std::size_t step = 0; step < plain.losses.size(); ++step) {
    check_same_bits(plain.losses[step], checkpointed.losses[step], "loss of step " + std::to_string(step));
    BOOST_TEST((plain.states[step] == checkpointed.states[step]), "parameters or moments after step " << step);
  }
  BOOST_TEST(plain.draws == checkpointed.draws);
}
