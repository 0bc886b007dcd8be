// Contract of a step of the optimisers.
#include <cmath>
#include <limits>
#include <memory>

#include "autograd/ops.hpp"
#include "kernels/adam.hpp"
#include "kernels/copy.hpp"
#include "kernels/sgd.hpp"
#include "nn/linear.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(OPT_1_an_optimiser_refuses_lists_that_are_not_valid) {
  for (Make make : makers) {
    Parameter a(Tensor::zeros({2}, device)), b(Tensor::zeros({2}, device)), wide(Tensor::zeros({2}, reference_device)),
        nan(Tensor::full({2}, std::nan(""), device));
    check_refused([&] { make({}); }, "OPT-1", "empty list");
    check_refused([&] { make({{"", a.handle()}}); }, "OPT-1", "name");
    check_refused([&] { make({{"a", {}}}); }, "OPT-1", "\"a\"");
    check_refused([&] { make({{"a", a.handle()}, {"a", b.handle()}}); }, "OPT-1", "\"a\" twice");
    check_refused([&] { make({{"a", a.handle()}, {"b", a.handle()}}); }, "OPT-1", "\"b\"");
    check_refused(
        [&] {
          make({{"a", a.handle()}, {"wide", wide.handle()}});
        },
        "OPT-1", "\"a\" on " + to_string(device) + " and \"wide\" on reference");
    check_refused([&] { make({{"a", a.handle()}, {"nan", nan.handle()}}); }, "OPT-1", "\"nan\"");
  }
  Parameter a(Tensor::zeros({2}, device));
  ParameterList list{{"a", a.handle()}};
  check_refused([&] { Sgd made(std::vector<ParameterGroup<SgdOptions>>{{list, {}}, {{}, {}}}); }, "OPT-1", "group 1");
  check_refused(
      [&] {
        Sgd made(std::vector<ParameterGroup<SgdOptions>>{{list, {}}, {list, {}}});
      },
      "OPT-1", "\"a\" twice");
  check_refused([&] { Adam made(std::vector<ParameterGroup<AdamOptions>>{}); }, "OPT-1", "empty list");
}

CONTRACT(OPT_3_a_result_that_is_not_finite_changes_nothing_and_names_the_parameter) {
  for (Make make : makers)
    for (double bad : {std::nan(""), HUGE_VAL}) {
      Model model(device);
      auto optimiser = make(model.list);
      model.train(*optimiser, 1, 3);
      model.set_gradients(3);
      std::vector<float> values(130 * 67, 0.5f);
      values[4000] = static_cast<float>(bad);
      model.made[1].set_gradient(Tensor::from(values, {130, 67}, device));
      Facts before = facts_of(*optimiser);
      check_refused([&] { optimiser->step(0.01); }, "OPT-3", "\"p1\"");
      BOOST_TEST(before == facts_of(*optimiser));
      model.set_gradients(3);
      optimiser->step(0.01);
      BOOST_TEST(optimiser->step_count() == 3u);
    }
}

CONTRACT(OPT_3_an_overflow_of_the_update_itself_changes_nothing) {
  for (Make make : makers) {
    Parameter parameter(Tensor::full({2}, 3e38, device));
    auto optimiser = make({{"large", parameter.handle()}});
    parameter.set_gradient(Tensor::full({2}, -1, device));
    Facts before = facts_of(*optimiser);
    check_refused([&] { optimiser->step(3e38); }, "OPT-3", "\"large\"");
    BOOST_TEST(before == facts_of(*optimiser));
  }
}

CONTRACT(OPT_3_an_update_looks_at_every_tensor_before_it_writes_one) {
  auto ones = [&] { return Tensor::full({3}, 1, device); };
  Tensor wrong = Tensor::from<std::int32_t>({1, 2, 3}, {3}, device);
  std::vector<Tensor> first{ones(), ones(), ones()};
  auto unchanged = [&] {
    for (const Tensor& tensor : first) {
      check_same_bits(ones(), tensor, "a tensor of the first update");
      BOOST_TEST(tensor.version() == ones().version());
    }
  };
  kernels::Record all(device, 2);
  kernels::write_slots(all.all(), {1, 1});
  const kernels::AdamStep adam{0.1, 0.9, 0.999, 1e-8, 0, false, 1};
  const kernels::SgdStep sgd{0.1, 0.9, 0, false};
  for (int place : {0, 1, 2, 3}) {
    auto at = [&](int i) { return i == place ? wrong : ones(); };
    kernels::AdamUpdate second{at(0), {at(1)}, {at(2)}, at(3), adam};
    check_refused(
        [&] {
          kernels::adam({{first[0], {first[1]}, {first[2]}, ones(), adam}, second}, all.all());
        },
        "ACC-4", "int32");
    unchanged();
    if (place == 3) continue;
    check_refused(
        [&] {
          kernels::sgd({{first[0], first[1], ones(), sgd}, {at(0), at(1), at(2), sgd}}, all.all());
        },
        "ACC-4", "int32");
    unchanged();
  }
}

CONTRACT(OPT_3_a_pending_step_has_the_bits_of_a_step_and_counts_when_it_is_finished) {
  for (Make make : makers) {
    Model model(device), other(device);
    auto optimiser = make(model.list), plain = make(other.list);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      model.set_gradients(number);
      other.train(*plain, number, number + 1);
      const auto before = versions(*optimiser);
      const std::uint64_t downloads = device_counters(device).downloads;
      kernels::Record record(device, 3);
      Optimiser::PendingStep step(*optimiser, 0.01 + 0.001 * static_cast<double>(number), record.all());
      BOOST_TEST(device_counters(device).downloads == downloads);
      BOOST_TEST(optimiser->step_count() == number - 1);
      BOOST_TEST(versions(*optimiser) == before);
      if (number < 3) step.finish();  // the last one is left to the end of its scope
    }
    BOOST_TEST(optimiser->step_count() == 3u);
    BOOST_TEST(values_and_state(*optimiser) == values_and_state(*plain));
    BOOST_TEST(versions(*optimiser) == versions(*plain));
  }
}

CONTRACT(OPT_3_a_pending_step_whose_results_are_not_finite_changes_nothing) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.train(*optimiser, 1, 2);
    model.set_gradients(2);
    model.made[2].set_gradient(Tensor::full({}, std::numeric_limits<float>::infinity(), device));
    Facts before = facts_of(*optimiser);
    kernels::Record record(device, 3);
    Optimiser::PendingStep step(*optimiser, 0.01, record.all());
    check_refused([&] { step.finish(); }, "OPT-3", "\"p2\" not finite");
    BOOST_TEST(before == facts_of(*optimiser));
    { Optimiser::PendingStep forgotten(*optimiser, 0.01, record.all()); }
    BOOST_TEST(before == facts_of(*optimiser));
  }
}

CONTRACT(LIFE_11_an_optimiser_refuses_a_frozen_parameter_unless_it_is_to_skip_it) {
  Model model(device);
  model.made[1].freeze();
  for (Make make : makers) check_refused([&] { make(model.list); }, "LIFE-11", "\"p1\" frozen");
  Adam skipping(model.list, {.skip_frozen = true});
  Facts before = facts_of({model.list[1]});
  model.set_gradients(1);
  model.made[1].zero_gradient();
  skipping.step(0.01);
  BOOST_TEST(before == facts_of({model.list[1]}));
  model.made[1].unfreeze();
  model.set_gradients(2);
  skipping.step(0.01);
  BOOST_TEST(before != facts_of({model.list[1]}));

  Sgd trained({model.list[0]}, {});
  model.set_gradients(3);
  model.made[0].freeze();
  before = facts_of(trained);
  check_refused([&] { trained.step(0.01); }, "LIFE-11", "step of sgd");
  BOOST_TEST(before == facts_of(trained));
  Sgd skips({model.list[0]}, {.skip_frozen = true});  // its gradient is from before it was frozen
  before = facts_of({model.list[0]});
  skips.step(0.01);
  BOOST_TEST(before == facts_of({model.list[0]}));
}

CONTRACT(OPT_3_adam_judges_each_element_by_the_results_that_it_would_write) {
  constexpr float most = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0,         1e-30f,   -1,   0x1p59f, -0x1p60f, 0x1p61f,      0x1p99f,
                                  -0x1p100f, 0x1p101f, most, -most,   inf,      std::nanf("")};
  const std::vector<kernels::AdamStep> steps{{1e-3, 0.9, 0.999, 1e-8, 0.01, true, 3},
                                             {1e-3, 0.9, 0.999, 1e-8, 0.01, false, 3},
                                             {1e30, 0.9, 0.999, 1e-8, 0, true, 1},
                                             {1e-3, 0.9, 0.999, 1e-38, 0, true, 1},
                                             {1e-3, 0, 0, 1e-8, 1e30, false, 1}};
  for (const kernels::AdamStep& step : steps)
    for (float w : values)
      for (float m : values) {
        // All v and g together: first which of them are judged finite, then what is written.
        std::vector<kernels::AdamUpdate> updates;
        auto scalar = [&](float value) { return Tensor::full({}, value, device); };
        for (float v : values)
          for (float g : {values[1], values[3], values[5], values[8], values[9], values[12]})
            updates.push_back({scalar(w), {scalar(m)}, {scalar(v)}, scalar(g), step});
        kernels::Record judged(device, static_cast<std::int64_t>(updates.size()));
        kernels::adam_is_finite(updates, judged.all());
        kernels::Record all(device, static_cast<std::int64_t>(updates.size()));
        kernels::write_slots(all.all(), std::vector<std::uint64_t>(updates.size(), 1));
        kernels::adam(updates, all.all());
        for (std::size_t i = 0; i < updates.size(); ++i) {
          bool written = true;
          for (const Tensor& result : {updates[i].w, updates[i].m[0], updates[i].v[0]})
            written = written && std::isfinite(result.item());
          const bool finite = judged.bits(static_cast<std::int64_t>(i)) == 1;
          BOOST_REQUIRE_MESSAGE(finite == written, "w " << w << ", m " << m << ", case " << i << ": judged " << finite);
        }
      }
}

CONTRACT(OPT_4_gradients_are_read_and_not_written_until_they_are_zeroed) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.set_gradients(1);
    Tensor gradient = model.made[1].gradient(), before = kernels::copy(gradient);
    std::uint64_t version = gradient.version();
    optimiser->step(0.01);
    BOOST_TEST(model.made[1].has_pending_gradient());
    BOOST_TEST(model.made[1].gradient().shares_storage_with(gradient));
    check_same_bits(before, model.made[1].gradient(), "gradient");
    BOOST_TEST(gradient.version() == version);
    optimiser->zero_gradients();
    for (const Parameter& parameter : model.made) BOOST_TEST(!parameter.has_pending_gradient());
    check_same_bits(before, gradient, "a gradient that somebody holds");
  }
}

CONTRACT(OPT_4_a_parameter_without_a_pending_gradient_keeps_value_state_and_version) {
  for (Make make : makers) {
    Model model(device);
    auto optimiser = make(model.list);
    model.set_gradients(1);
    model.made[1].zero_gradient();
    Bits before = values_and_state(*optimiser);
    std::vector<std::uint64_t> expected = versions(*optimiser);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += i % 3 != 1;
    optimiser->step(0.01);
    BOOST_TEST(versions(*optimiser) == expected);
    Bits after = values_and_state(*optimiser);
    for (std::size_t i = 0; i < after.size(); ++i) BOOST_TEST((before[i] == after[i]) == (i % 3 == 1));

    model.made[0].set_gradient(Tensor::zeros({33}, device));
    optimiser->step(0.01);
    BOOST_TEST((widened_bits(model.made[0].value()) != after[0]), "a gradient of zeros is a gradient");
  }
}

CONTRACT(ACC_5_a_step_raises_each_written_version_by_one) {
  for (std::int64_t page : {0, 67}) {
    Model model(device);
    Adam optimiser(model.list, {.page = page});
    for (std::uint64_t step = 1; step < 3; ++step) {
      std::vector<std::uint64_t> expected;
      for (const Parameter& parameter : model.made) expected.push_back(parameter.value().version() + 1);
      model.train(optimiser, step, step + 1);
      for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(model.made[i].value().version() == expected[i]);
    }
  }
}

CONTRACT(OPT_5_the_step_count_rises_only_on_success) {
  for (Make make : makers) {
    Parameter parameter(Tensor::full({2}, 1, device));
    auto optimiser = make({{"p", parameter.handle()}});
    BOOST_TEST(optimiser->step_count() == 0u);
    parameter.set_gradient(Tensor::full({2}, std::nan(""), device));
    for (double rate : {0.1, -1.0}) {
      check_refused([&] { optimiser->step(rate); }, rate < 0 ? "OPT-2" : "OPT-3");
      BOOST_TEST(optimiser->step_count() == 0u);
    }
    parameter.set_gradient(Tensor::full({2}, 1, device));
    optimiser->step(0.1);
    optimiser->step(0);
    BOOST_TEST(optimiser->step_count() == 2u);
    optimiser->zero_gradients();
    optimiser->step(0.1);
    BOOST_TEST(optimiser->step_count() == 3u, "a step without gradients is a step");
  }
}

CONTRACT(OPT_10_an_optimiser_outlives_the_module_the_parameters_and_the_list) {
  for (Make make : makers) {
    std::unique_ptr<Optimiser> optimiser;
    {
      Random random(1);
      Linear layer(3, 2, random["layer"]);
      layer.to(device);
      ParameterList list = layer.parameters();
      optimiser = make(list);
      for (const NamedParameter& entry : list)
        entry.parameter->set_gradient(Tensor::full(entry.parameter->value().shape(), 1, device));
    }
    BOOST_REQUIRE(optimiser->parameters().size() == 2u);
    Bits before = values_and_state(*optimiser);
    optimiser->step(0.01);
    Bits after = values_and_state(*optimiser);
    for (std::size_t i = 0; i < after.size(); ++i) BOOST_TEST((before[i] != after[i]), "tensor " << i);
  }
}

namespace {

/// Two modules, of which the second uses the first one's weight.
class Owner final : public Module {
 public:
  explicit Owner(Device device) : weight_(Tensor::from<float>({4, -8}, {2}, device)) {
    register_parameter("weight", weight_);
  }
  ParameterHandle weight() const { return weight_.handle(); }

 private:
  Parameter weight_;
};
class User final : public Module {
 public:
  explicit User(ParameterHandle shared) : shared_(std::move(shared)) {}
  Variable forward(const Variable& x) const { return multiply(x, shared_->variable()); }

 private:
  ParameterHandle shared_;
};
class UsedTwice final : public Module {
 public:
  explicit UsedTwice(Device device) : owner_(device), user_(owner_.weight()) {
    register_module("owner", owner_);
    register_module("user", user_);
  }
  Variable forward(const Variable& x, const Variable& y) const {
    return add(sum(multiply(x, owner_.weight()->variable())), sum(user_.forward(y)));
  }

 private:
  Owner owner_;
  User user_;
};

}  // namespace

CONTRACT(OPT_11_a_tied_parameter_gets_both_contributions_and_is_stepped_once) {
  UsedTwice model(device);
  ParameterList list = model.parameters();
  BOOST_REQUIRE(list.size() == 1u);
  BOOST_TEST(list[0].name == "owner.weight");
  Sgd optimiser(list);
  model.forward(Tensor::from<float>({1, 2}, {2}, device), Tensor::from<float>({16, 32}, {2}, device)).backward();
  check_same_bits(Tensor::from<float>({17, 34}, {2}, device), list[0].parameter->gradient(), "both contributions");
  optimiser.step(0.5);
  check_same_bits(Tensor::from<float>({4 - 8.5f, -8 - 17.0f}, {2}, device), list[0].parameter->value(), "one step");
}
