// Contract of replicas in one process.
#include "optim/replicas.hpp"

#include <deque>

#include "autograd/ops.hpp"
#include "models/mlp.hpp"
#include "nn/shard_scope.hpp"
#include "optim/clip.hpp"
#include "optim/shards.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// Parameters of these names and shapes, with a gradient each.
struct Named {
  std::deque<Parameter> made;
  ParameterList list;

  void add(const std::string& name, const Shape& shape, std::uint64_t seed, Device device) {
    made.emplace_back(drawn(shape, seed, -1, 1, device));
    made.back().set_gradient(Tensor::full(shape, 1, device));
    list.push_back({name, made.back().handle()});
  }
};

}  // namespace

CONTRACT(REPL_1_values_are_copied_by_name_bit_for_bit) {
  for (Device source : conformance::devices()) {
    Named from, to;
    from.add("a", {3}, 1, source);
    from.add("b", {2, 3}, 2, source);
    from.add("c", {3}, 3, source);
    to.add("c", {3}, 11, device);
    to.add("a", {3}, 12, device);
    to.add("b", {2, 3}, 13, device);
    Facts before = facts_of(from.list);
    Variable graph = sum(multiply(to.made[0].variable(), to.made[0].variable()));
    copy_parameters(from.list, to.list);
    check_same_bits(from.made[2].value(), to.made[0].value(), "c");
    check_same_bits(from.made[0].value(), to.made[1].value(), "a");
    check_same_bits(from.made[1].value(), to.made[2].value(), "b");
    for (const Parameter& parameter : to.made) {
      BOOST_TEST(!parameter.has_pending_gradient());
      BOOST_TEST((parameter.value().device() == device));
      // The device's side too: an operation sees what a read saw.
      check_same_bits(parameter.value(), add(parameter.value(), Tensor::zeros({}, device)).value(), "on the device");
    }
    BOOST_TEST(before == facts_of(from.list), "the source is only read");
    check_refused([&] { graph.backward(); }, "GRAPH-5", "multiply");

    // Two values, not one that is shared.
    from.made[0].set_value(Tensor::full({3}, 5, source));
    BOOST_TEST(to.made[1].value().read<float>()[0] != 5);
  }
}

CONTRACT(REPL_1_a_list_that_does_not_match_changes_nothing) {
  auto refused = [&](auto change, const std::string& id, const std::string& fragment) {
    Named from, to;
    for (Named* list : {&from, &to}) {
      list->add("a", {3}, 1, device);
      list->add("b", {2, 3}, 2, device);
      to.list.size() == 2 ? to.made[1].set_gradient(Tensor::zeros({2, 3}, device)) : void();
    }
    to.made[0].set_value(Tensor::full({3}, 7, device));
    change(from, to);
    ParameterList sound;
    for (const Parameter& parameter : to.made) sound.push_back({std::to_string(sound.size()), parameter.handle()});
    Facts before = facts_of(sound);
    check_refused([&] { copy_parameters(from.list, to.list); }, id, fragment);
    BOOST_TEST(before == facts_of(sound), fragment);
  };
  refused([](Named& from, Named&) { from.list.pop_back(); }, "REPL-1", "\"b\" in the source");
  refused([&](Named& from, Named&) { from.add("extra", {1}, 3, device); }, "REPL-1", "\"extra\" in the target");
  refused([](Named&, Named& to) { to.list.pop_back(); }, "REPL-1", "\"b\" in the target");
  refused([](Named& from, Named&) { from.list[1].name = "c"; }, "REPL-1", "\"b\" in the source");
  refused(
      [&](Named& from, Named&) {
        from.list.pop_back();
        from.add("b", {3, 2}, 3, device);
      },
      "REPL-1", "\"b\": expected float32 [2, 3], found float32 [3, 2]");
  refused(
      [&](Named& from, Named&) {
        from.list.pop_back();
        from.add("b", {2, 3}, 3, reference_device);
      },
      "REPL-1", "float64 [2, 3]");
  refused([](Named& from, Named&) { from.list[1].name = "a"; }, "OPT-1", "source: expected each name once");
  refused([](Named&, Named& to) { to.list[1].name = "a"; }, "OPT-1", "target: expected each name once");
  refused([](Named&, Named& to) { to.list[1].name = ""; }, "OPT-1", "name");
  refused([](Named& from, Named&) { from.list[1].parameter = {}; }, "OPT-1", "\"b\"");
}

namespace {

/// A model with dropout and its optimiser; equal seeds make equal ones.
struct Replica {
  Random random{11};
  Mlp model;
  ParameterList parameters;
  Adam optimiser;

  explicit Replica(Device device)
      : model({6, 8, 3}, Activation::relu, 0.25, random),
        parameters((model.to(device), model.parameters())),
        optimiser(parameters, {.weight_decay = 0.01, .decoupled = true}) {}

  std::vector<std::uint64_t> draws() const {
    std::vector<std::uint64_t> all;
    for (const auto& stream : random.streams()) all.push_back(stream->draws());
    return all;
  }
  void set_draws(const std::vector<std::uint64_t>& draws) {
    for (std::size_t i = 0; i < draws.size(); ++i) random.streams()[i]->set_draws(draws[i]);
  }

  /// The sum over the shards `first` … of `count` that together are a subtree of all `shards`.
  ShardResult part(const Tensor& x, const Tensor& labels, std::int64_t shards, std::int64_t first, std::int64_t count) {
    std::int64_t rows = x.shape()[0];
    std::vector<std::uint64_t> before = draws();
    ShardSum sum(count);
    for (std::int64_t shard = first; shard < first + count; ++shard) {
      set_draws(before);  // all shards of a batch are one draw
      auto [begin, end] = rows_of_shard(rows, shards, shard);
      ShardScope scope(begin);
      Variable loss =
          cross_entropy(model.forward(x.slice(0, begin, end)), labels.slice(0, begin, end), {.count = rows});
      loss.backward();
      ShardResult result{loss.value(), {}};
      for (const NamedParameter& entry : parameters) result.gradients.push_back(entry.parameter->gradient());
      optimiser.zero_gradients();
      sum.add(std::move(result));
    }
    return sum.total();
  }
  void step(const ShardResult& total) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].parameter->set_gradient(total.gradients[i]);
    clip_gradients(parameters, 0.5);
    optimiser.step(0.01);
    optimiser.zero_gradients();
  }
};

}  // namespace

CONTRACT(REPL_2_replicas_with_equal_shards_train_as_one_model_on_the_whole_batch) {
  constexpr std::int64_t shards = 8, rows = 24;
  for (std::int64_t replicas : {2, 4, 8}) {
    Replica one(device);
    std::deque<Replica> many;
    for (std::int64_t i = 0; i < replicas; ++i) {
      many.emplace_back(device);
      for (const NamedParameter& entry : many.back().parameters)
        entry.parameter->set_value(Tensor::full(entry.parameter->value().shape(), static_cast<double>(i), device));
      copy_parameters(one.parameters, many.back().parameters);
    }
    for (std::uint64_t step = 0; step < 4; ++step) {
      Tensor x = drawn({rows, 6}, 100 + step, -1, 1, device);
      std::vector<std::int32_t> targets;
      for (std::int64_t row = 0; row < rows; ++row) targets.push_back(static_cast<std::int32_t>(row % 3));
      Tensor labels = Tensor::from(targets, {rows}, device);
      one.step(one.part(x, labels, shards, 0, shards));
      ShardSum sum(replicas);
      std::int64_t each = shards / replicas;
      for (std::int64_t i = 0; i < replicas; ++i)
        sum.add(many[static_cast<std::size_t>(i)].part(x, labels, shards, i * each, each));
      ShardResult total = sum.total();
      for (Replica& replica : many) {
        replica.step(total);
        BOOST_TEST((values_and_state(one.optimiser) == values_and_state(replica.optimiser)),
                   replicas << " replicas, step " << step);
        BOOST_TEST(one.draws() == replica.draws());
      }
    }
  }
}
