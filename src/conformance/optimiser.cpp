// The checks of one optimiser.
#include "conformance/optimiser.hpp"

#include <limits>

#include "conformance/observed.hpp"
#include "conformance/tensors.hpp"
#include "kernels/copy.hpp"
#include "kernels/record.hpp"
#include "nn/module.hpp"

namespace assay::conformance {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

/// A few parameters with an optimiser, and gradients that are a function of the step.
struct Trained {
  Trained(const OptimiserCase& subject, Device device, bool views = false)
      : rate(subject.learning_rate), device(device), views(views) {
    const Shape shapes[] = {{5}, {7, 3}, {}};
    for (std::size_t i = 0; i < 3; ++i) made.emplace_back(shown(drawn(shapes[i], i, -1, 1, device)));
    for (std::size_t i = 0; i < 3; ++i) list.push_back({"p" + std::to_string(i), made[i].handle()});
    optimiser = subject.make(list);
  }
  Tensor shown(const Tensor& tensor) const { return views ? strided(tensor) : tensor; }
  void set_gradients(std::uint64_t step) {
    for (std::size_t i = 0; i < 3; ++i)
      made[i].set_gradient(shown(drawn(made[i].value().shape(), 10 * step + i, -1, 1, made[i].value().device())));
  }
  void train(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step < to; ++step) {
      set_gradients(step);
      optimiser->step(rate * (1 + 0.1 * static_cast<double>(step)));
    }
  }

  double rate;
  Device device;
  bool views;
  std::vector<Parameter> made;
  ParameterList list;
  std::unique_ptr<Optimiser> optimiser;
};

OptimiserState copied(OptimiserState state) {
  for (NamedTensor& entry : state.tensors) {
    const auto values = entry.tensor.read<float>();
    entry.tensor = Tensor::from(values.span(), entry.tensor.shape(), entry.tensor.device());
  }
  return state;
}

/// Tensors that a step writes: the values, then the state.
std::vector<NamedTensor> written(const Optimiser& optimiser) {
  std::vector<NamedTensor> all;
  for (const auto& [name, parameter] : optimiser.parameters()) all.push_back({name, parameter->value()});
  for (const NamedTensor& entry : optimiser.state().tensors) all.push_back(entry);
  return all;
}

void expect_same_state(const Optimiser& expected, const Optimiser& found, const std::string& what) {
  const std::vector<NamedTensor> a = written(expected), b = written(found);
  expect(a.size() == b.size(), what + ": another number of tensors");
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(a[i].tensor, b[i].tensor, what + ": " + a[i].name);
  expect(expected.step_count() == found.step_count(), what + ": step " + std::to_string(found.step_count()) +
                                                          " instead of " + std::to_string(expected.step_count()));
}

Facts without_versions(const Optimiser& optimiser) {
  Facts facts;
  for (const NamedTensor& entry : written(optimiser)) facts.push_back(bits_of(entry.tensor));
  return facts;
}

/// The values that kernels see: a read may give what was downloaded before a write that is not counted.
Facts on_device(const Optimiser& optimiser) {
  Facts facts;
  for (const auto& [name, tensor] : written(optimiser)) facts.push_back(name + ", " + bits_of(kernels::copy(tensor)));
  return facts;
}

/// The same values with one element replaced.
Tensor with(const Tensor& tensor, float value) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size()), 0.5f);
  values.back() = value;
  return Tensor::from(values, tensor.shape(), tensor.device());
}

/// Two modules, of which the second uses the first one's parameter.
class Tied final : public Module {
 public:
  explicit Tied(Device device) : owner_(std::make_shared<Owner>(device)) {
    register_module("owner", owner_);
    tie_parameter("user", owner_->weight.handle());
  }

 private:
  struct Owner final : Module {
    explicit Owner(Device device) : weight(drawn({5}, 0, -1, 1, device)) { register_parameter("weight", weight); }
    Parameter weight;
  };
  std::shared_ptr<Owner> owner_;
};

class OptimiserChecks {
 public:
  OptimiserChecks(const OptimiserCase& subject, Checks& checks, Device device)
      : subject_(subject), checks_(checks), device_(device) {}

  void run() {
    add("OPT-1", "lists that are not valid are refused", [&] { lists(); });
    add("OPT-2", "a learning rate that is negative or not finite is refused and changes nothing", [&] {
      Trained now = trained(1, 3);
      now.set_gradients(3);
      for (const double wrong : {-1e-3, static_cast<double>(nan), static_cast<double>(infinity)})
        expect_refused_and_unchanged(
            now, [&] { now.optimiser->step(wrong); }, "OPT-2", "such a rate");
    });
    add("OPT-3", "a gradient that is not finite changes nothing, and the parameter is named", [&] { not_finite(); });
    add("OPT-3", "a step that overflows changes nothing", [&] { overflow(); });
    add("OPT-4", "gradients are read and not written, and stay until they are zeroed", [&] { gradients(); });
    add("OPT-4", "a parameter without a pending gradient is left alone, one with a gradient of zeros is not",
        [&] { pending(); });
    add("OPT-5", "the step count rises by one, and only on success", [&] {
      Trained now = trained(1, 1);
      expect(now.optimiser->step_count() == 0, "it does not begin at 0");
      now.made[2].set_gradient(with(now.made[2].value(), nan));
      expect_refused([&] { now.optimiser->step(now.rate); }, "OPT-3", "a gradient that is not finite");
      expect(now.optimiser->step_count() == 0, "a refused step was counted");
      now.train(1, 3);
      expect(now.optimiser->step_count() == 2, "two steps were counted otherwise");
    });
    add("OPT-7", "a state that is loaded, also before the first step, goes on with the same bits", [&] { load(); });
    add("OPT-7", "a state that does not fit is refused and changes nothing", [&] { misfits(); });
    add("OPT-10", "it outlives parameters, lists and modules", [&] {
      Trained now = trained(1, 3);
      now.set_gradients(3);
      const Facts before = without_versions(*now.optimiser);
      now.made.clear();
      now.list.clear();
      now.optimiser->step(now.rate);
      expect(without_versions(*now.optimiser) != before, "the step changed nothing");
    });
    add("OPT-11", "a tied parameter is stepped once", [&] { tied(); });
    add("ACC-5", "a step raises the version of each value and of each tensor of the state by one", [&] {
      Trained now = trained(1, 2);
      std::vector<std::uint64_t> before;
      for (const NamedTensor& entry : written(*now.optimiser)) before.push_back(entry.tensor.version());
      now.train(2, 3);
      const std::vector<NamedTensor> after = written(*now.optimiser);
      for (std::size_t i = 0; i < after.size(); ++i)
        expect(after[i].tensor.version() == before[i] + 1, after[i].name + " rose from " + std::to_string(before[i]) +
                                                               " to " + std::to_string(after[i].tensor.version()));
    });
    add("XFER-9",
        "it refuses to step while its parameters are elsewhere, and goes on with the same bits once it follows",
        [&] { moved(); });
    add("RES-6", "a failed allocation, copy or launch changes nothing, and the next step has the same bits",
        [&] { faults(); });
    add("RES-10", "built, stepped and destroyed it leaves the devices with what they held", [&] {
      trained(1, 3);
      const std::vector<std::uint64_t> before = live_bytes();
      for (int i = 0; i < 3; ++i) trained(1, 3);
      expect_unchanged({{}, before}, {{}, live_bytes()}, "three more");
    });
    add("NUM-1", "any number of threads gives the same bits", [&] {
      const Trained expected = (ThreadsScope(1), trained(1, 4));
      for (int count : {2, 3, 7}) {
        const ThreadsScope scope(count);
        expect_same_state(*expected.optimiser, *trained(1, 4).optimiser, std::to_string(count) + " threads");
      }
    });
    add("NUM-4", "strided values and gradients give the bits of contiguous ones", [&] {
      Trained views(subject_, device_, true);
      views.train(1, 4);
      expect_same_state(*trained(1, 4).optimiser, *views.optimiser, "strided");
    });
    if (!(device_ == cpu))
      add("NUM-8", "it has the bits of the cpu, in any order of lanes", [&] {
        Trained expected(subject_, cpu);
        expected.train(1, 4);
        in_any_order_of_lanes(
            [&](const char* order) { expect_same_state(*expected.optimiser, *trained(1, 4).optimiser, order); });
      });
  }

 private:
  void add(const char* id, const char* promise, const std::function<void()>& check) {
    checks_.add(device_, id, promise, check);
  }
  Trained trained(std::uint64_t from, std::uint64_t to) const {
    Trained now(subject_, device_);
    now.train(from, to);
    return now;
  }
  template <class Call>
  void expect_refused_and_unchanged(const Trained& now, Call&& call, const char* id, const std::string& what,
                                    const std::string& fragment = "") const {
    const Observed before = observe(*now.optimiser);
    expect_refused(call, id, what, fragment);
    expect_unchanged(before, observe(*now.optimiser), what);
  }

  void lists() {
    Parameter a(Tensor::zeros({2}, device_)), b(Tensor::zeros({2}, device_)),
        elsewhere(Tensor::zeros({2}, other_than(device_))), not_finite(Tensor::full({2}, nan, device_));
    const std::pair<const char*, ParameterList> wrong[] = {
        {"an empty list", {}},
        {"an empty name", {{"", a.handle()}}},
        {"a null", {{"a", {}}}},
        {"a repeated name", {{"a", a.handle()}, {"a", b.handle()}}},
        {"a repeated parameter", {{"a", a.handle()}, {"b", a.handle()}}},
        {"a list over two devices", {{"a", a.handle()}, {"b", elsewhere.handle()}}},
        {"a value that is not finite", {{"a", a.handle()}, {"b", not_finite.handle()}}},
    };
    for (const auto& [what, list] : wrong) expect_refused([&, &list = list] { subject_.make(list); }, "OPT-1", what);
  }

  void not_finite() {
    for (std::size_t place = 0; place < 3; ++place)
      for (float bad : {nan, infinity}) {
        Trained now = trained(1, 3);
        now.set_gradients(3);
        now.made[place].set_gradient(with(now.made[place].value(), bad));
        expect_refused_and_unchanged(
            now, [&] { now.optimiser->step(now.rate); }, "OPT-3",
            "a gradient of " + now.list[place].name + " that is not finite", now.list[place].name);
        const Facts before = on_device(*now.optimiser);
        expect_refused(
            [&] {
              const kernels::Record record(device_, 3);
              Optimiser::PendingStep(*now.optimiser, now.rate, record.all()).finish();
            },
            "OPT-3", "the same as a pending step", now.list[place].name);
        expect_unchanged({before, {}}, {on_device(*now.optimiser), {}}, "a pending step that was refused");
        now.train(3, 4);
        expect_same_state(*trained(1, 4).optimiser, *now.optimiser, "a step after the refused one");
      }
  }

  void overflow() {
    Trained now = trained(1, 2);
    now.set_gradients(2);
    now.made[1].set_value(Tensor::full({7, 3}, 3e38, device_));
    now.made[1].set_gradient(Tensor::full({7, 3}, -1, device_));
    const Observed before = observe(*now.optimiser);
    try {
      now.optimiser->step(3e38);
    } catch (const Error& error) {
      expect(error.id() == "OPT-3", std::string("it was refused as ") + error.what());
      expect_unchanged(before, observe(*now.optimiser), "a refused step");
      return;
    }
    for (const NamedTensor& entry : written(*now.optimiser))
      for (double value : doubles(entry.tensor)) expect(value - value == 0, entry.name + " is not finite");
  }

  void gradients() {
    Trained now = trained(1, 2);
    now.set_gradients(2);
    std::vector<Tensor> before;
    Facts facts;
    for (const Parameter& parameter : now.made) {
      before.push_back(parameter.gradient());
      facts.push_back(std::to_string(parameter.gradient().version()) + bits_of(parameter.gradient()));
    }
    now.optimiser->step(now.rate);
    for (std::size_t i = 0; i < 3; ++i) {
      const Parameter& parameter = now.made[i];
      expect(parameter.has_pending_gradient(), now.list[i].name + " has no pending gradient any more");
      expect(parameter.gradient().shares_storage_with(before[i]) &&
                 std::to_string(before[i].version()) + bits_of(before[i]) == facts[i],
             "the gradient of " + now.list[i].name + " is another");
    }
    now.optimiser->zero_gradients();
    for (std::size_t i = 0; i < 3; ++i)
      expect(!now.made[i].has_pending_gradient(), now.list[i].name + " keeps a gradient that was zeroed");
  }

  void pending() {
    Trained now = trained(1, 2);
    now.set_gradients(2);
    now.made[0].set_gradient(Tensor::zeros({5}, device_));
    now.made[1].zero_gradient();
    const std::vector<NamedTensor> before = written(*now.optimiser);
    std::vector<std::uint64_t> versions;
    Facts bits;
    for (const NamedTensor& entry : before) {
      versions.push_back(entry.tensor.version());
      bits.push_back(bits_of(entry.tensor));
    }
    now.optimiser->step(now.rate);
    const std::vector<NamedTensor> after = written(*now.optimiser);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const std::size_t parameter = i % 3;
      const bool raised = after[i].tensor.version() != versions[i];
      if (parameter == 1)
        expect(!raised && bits_of(after[i].tensor) == bits[i], after[i].name + " changed without a gradient");
      else
        expect(raised, after[i].name + " was passed over");
    }
  }

  void load() {
    Trained whole = trained(1, 4);
    const OptimiserState state = copied(whole.optimiser->state());
    expect(state.kind == whole.optimiser->kind() && state.step_count == 3, "the state has another kind or step");
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
      const std::string& name = state.tensors[i].name;
      expect(name.ends_with("." + whole.list[i % 3].name), "tensor " + std::to_string(i) + " is named " + name);
    }
    Trained fresh = trained(1, 1), later = trained(11, 13);
    for (Trained* resumed : {&fresh, &later}) {
      for (std::size_t i = 0; i < 3; ++i) resumed->made[i].set_value(whole.made[i].value());
      resumed->optimiser->load_state(state);
      expect_same_state(*whole.optimiser, *resumed->optimiser, "after loading");
    }
    whole.train(4, 7);
    for (Trained* resumed : {&fresh, &later}) {
      resumed->train(4, 7);
      expect_same_state(*whole.optimiser, *resumed->optimiser, "three steps after loading");
    }
  }

  void misfits() {
    const Trained source = trained(1, 3), target = trained(11, 12);
    const auto refused = [&](const char* what, const std::function<void(OptimiserState&)>& change) {
      OptimiserState state = copied(source.optimiser->state());
      change(state);
      expect_refused_and_unchanged(
          target, [&] { target.optimiser->load_state(state); }, "OPT-7", what);
    };
    refused("another kind", [](OptimiserState& state) { state.kind += "?"; });
    refused("a tensor more", [&](OptimiserState& state) {
      state.tensors.push_back({"more", Tensor::zeros({1}, device_)});
    });
    if (source.optimiser->state().tensors.empty()) return;
    refused("a tensor less", [](OptimiserState& state) { state.tensors.pop_back(); });
    refused("another order", [](OptimiserState& state) { std::swap(state.tensors.front(), state.tensors.back()); });
    refused("another shape", [&](OptimiserState& state) {
      state.tensors.back().tensor = Tensor::zeros({1, 1}, device_);
    });
    refused("another device", [&](OptimiserState& state) {
      state.tensors.back().tensor = state.tensors.back().tensor.to(other_than(device_));
    });
    refused("no value", [](OptimiserState& state) { state.tensors.back().tensor = {}; });
    refused("a NaN",
            [](OptimiserState& state) { state.tensors.back().tensor = with(state.tensors.back().tensor, nan); });
    refused("a state of steps at step 0", [](OptimiserState& state) {
      state.step_count = 0;
      state.beta_powers.clear();
      state.tensors.front().tensor = with(state.tensors.front().tensor, 0.5f);
    });
  }

  void tied() {
    const Tied model(device_);
    const ParameterList list = model.parameters();
    Parameter alone(drawn({5}, 0, -1, 1, device_));
    const std::unique_ptr<Optimiser> one = subject_.make(list), other = subject_.make({{"alone", alone.handle()}});
    for (std::uint64_t step = 1; step < 4; ++step) {
      list.at(0).parameter->set_gradient(drawn({5}, step, -1, 1, device_));
      alone.set_gradient(drawn({5}, step, -1, 1, device_));
      one->step(subject_.learning_rate);
      other->step(subject_.learning_rate);
    }
    expect_same_state(*other, *one, "beside one that is not tied");
  }

  void moved() {
    const Device other = other_than(device_);
    Trained now = trained(1, 3);
    move_parameters_to(now.list, other);
    now.set_gradients(3);
    expect_refused_and_unchanged(
        now, [&] { now.optimiser->step(now.rate); }, "XFER-9", "a step away from its parameters", to_string(other));
    now.optimiser->to(other);
    now.train(3, 5);
    move_parameters_to(now.list, device_);
    now.optimiser->to(device_);
    now.train(5, 6);
    expect_same_state(*trained(1, 6).optimiser, *now.optimiser, "after two moves");
  }

  void faults() {
    for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
      Trained now = trained(1, 3);
      const OptimiserState state = copied(now.optimiser->state());
      const auto all = [&] { return observe(*now.optimiser); };
      expect_atomic_under_faults(
          device_, action, [&] { now.optimiser->load_state(state); }, all);
      for (Device where : {device_, other_than(device_)}) {
        expect_atomic_under_faults(
            where, action, [&] { now.optimiser->to(other_than(device_)); }, all);
        now.optimiser->to(device_);
      }
      now.set_gradients(3);
      expect_atomic_under_faults(
          device_, action, [&] { now.optimiser->step(now.rate * (1 + 0.1 * 3)); }, all);
      expect_same_state(*trained(1, 4).optimiser, *now.optimiser, "the step after the failures");
    }
  }

  const OptimiserCase& subject_;
  Checks& checks_;
  Device device_;
};

}  // namespace

std::vector<Verdict> check_optimiser(const OptimiserCase& subject) {
  Checks checks(subject.name);
  for (Device device : devices()) OptimiserChecks(subject, checks, device).run();
  return std::move(checks).verdicts();
}

}  // namespace assay::conformance
