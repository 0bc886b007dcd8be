// The library's own layers, models, losses and optimisers under the checks that it has for those of others.
#include "autograd/ops.hpp"
#include "conformance/module.hpp"
#include "conformance/operation.hpp"
#include "conformance/optimiser.hpp"
#include "models/mlp.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

void check_all_hold(const std::vector<conformance::Verdict>& verdicts) {
  for (const conformance::Verdict& verdict : verdicts) BOOST_TEST(verdict.holds, text_of(verdict));
}

void check_layer(const char* name, const std::function<std::shared_ptr<Linear>(const Random&)>& make) {
  check_all_hold(conformance::check_module<Linear>(
      {.name = name,
       .make = make,
       .forward = [](const Linear& layer, const auto& x) { return layer.forward(x[0]); },
       .inputs = {drawn({5, 3}, 1)},
       .batched = {0}}));
}

void check_model(const char* name, Activation activation, double p) {
  check_all_hold(conformance::check_module<Mlp>(
      {.name = name,
       .make =
           [=](const Random& random) {
             return std::make_shared<Mlp>(std::vector<std::int64_t>{3, 6, 2}, activation, p, random);
           },
       .forward = [](const Mlp& model, const auto& x) { return model.forward(x[0]); },
       .inputs = {drawn({5, 3}, 1)},
       .batched = {0}}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_and_models_keep_what_every_module_promises) {
  check_layer("linear", [](const Random& random) { return std::make_shared<Linear>(3, 4, random); });
  check_layer("linear without bias",
              [](const Random& random) { return std::make_shared<Linear>(3, 4, random, false); });
  check_model("mlp", Activation::tanh, 0);
  check_model("mlp with dropout", Activation::gelu, 0.3);
}

BOOST_AUTO_TEST_CASE(operations_keep_what_every_operation_promises) {
  const auto check = [](const char* name, const conformance::Operation& compute, const std::vector<Tensor>& inputs,
                        const std::vector<std::size_t>& batched, double ulps = 16) {
    check_all_hold(conformance::check_operation({name, compute, inputs, ulps, batched}));
  };
  const Tensor x = drawn({4, 3}, 1), y = drawn({4, 3}, 2, 0.5, 2);
  check("divide", [](const auto& in) { return divide(in[0], in[1]); }, {x, y}, {0, 1});
  check("maximum", [](const auto& in) { return maximum(in[0], 1); }, {x}, {0});
  check("linear", [](const auto& in) { return linear(in[0], in[1], in[2]); }, {x, drawn({5, 3}, 3), drawn({5}, 4)},
        {0});
  check("matmul", [](const auto& in) { return matmul(in[0], in[1]); }, {x, drawn({3, 5}, 3)}, {0});
  check("log_softmax", [](const auto& in) { return log_softmax(in[0]); }, {x}, {0});
  check("mean", [](const auto& in) { return mean(in[0], {0}); }, {x}, {});
  check("transpose", [](const auto& in) { return transpose(in[0], 0, 1); }, {x}, {});
  const Tensor ids = Tensor::from<std::int32_t>({2, 0, 1, 2, 2, 0}, {6});
  check("embedding", [](const auto& in) { return embedding(in[1], in[0].value()); }, {ids, drawn({3, 2}, 1)}, {0});
  check("cross_entropy", [](const auto& in) { return cross_entropy(in[0], in[1].value()); },
        {x, Tensor::from<std::int32_t>({2, 0, 1, 2}, {4})}, {});
}

BOOST_AUTO_TEST_CASE(optimisers_keep_what_every_optimiser_promises) {
  const auto check = [](const char* name, auto make) {
    check_all_hold(conformance::check_optimiser({.name = name, .make = make}));
  };
  check("sgd", [](ParameterList list) { return std::make_unique<Sgd>(list); });
  check("nesterov", [](ParameterList list) {
    return std::make_unique<Sgd>(list, SgdOptions{.momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
  });
  check("adam", [](ParameterList list) { return std::make_unique<Adam>(list); });
  check("adamw", [](ParameterList list) {
    return std::make_unique<Adam>(list, AdamOptions{.weight_decay = 0.01, .decoupled = true});
  });
}
