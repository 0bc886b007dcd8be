// The checks of one module.
#include "conformance/module.hpp"

#include <stdlib.h>

#include <filesystem>

#include "checkpoint/checkpoint.hpp"
#include "conformance/observed.hpp"
#include "conformance/operation.hpp"
#include "conformance/tensors.hpp"
#include "device/pass.hpp"
#include "numerics/digest.hpp"

namespace assay::conformance {
namespace {

constexpr std::uint64_t seed = 1, other_seed = 2;

/// What a module shows to derived classes only.
struct Open final : Module {
  using Module::register_module;
  static constexpr void (Module::*add_parameter)(const std::string&, Parameter&) = &Open::register_parameter;
  static constexpr auto extra_parameters = &Open::extra_parameters_for_transfer;
};

/// What moves after its siblings, and may fail when they are done.
class Last final : public Module {
 public:
  explicit Last(Device device) : state_(Tensor::zeros({1}, device)) {}
  void stage_transfer(Transfer& transfer) override { transfer.stage(state_); }

 private:
  Tensor state_;
};

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "assay-conformance-XXXXXX").string()) {
    expect(mkdtemp(path_.data()) != nullptr, "no temporary folder can be made: " + path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A module of the case with its inputs on a device, made from a seed.
struct Model {
  Model(const ModuleCase<Module>& subject, Device device, std::uint64_t from = seed)
      : subject(subject), random(from), module(subject.make(random["model"])) {
    module->to(device);
    for (const Tensor& input : subject.inputs) inputs.push_back(input.to(device));
    list = module->parameters();
  }

  Variable forward(const std::vector<Variable>& x) const { return subject.forward(*module, x); }

  /// Forward and backward: the value, the gradients by the inputs, then those by the parameters.
  Outcome train() const {
    Outcome all = outcome([this](const auto& x) { return forward(x); }, inputs);
    for (const NamedParameter& entry : list) all.gradients.push_back(entry.parameter->gradient());
    return all;
  }
  Tensor evaluate() const {
    const EvalScope evaluation;
    const NoGradScope data;
    return forward({inputs.begin(), inputs.end()}).value();
  }
  std::vector<std::uint64_t> draws() const {
    std::vector<std::uint64_t> all;
    for (const auto& stream : random.streams()) all.push_back(stream->draws());
    return all;
  }
  /// Everything that can be seen of it.
  Observed observe() const {
    ParameterList everything = list;
    for (NamedParameter& extra : (module.get()->*Open::extra_parameters)()) everything.push_back(std::move(extra));
    Facts facts = facts_of(everything);
    facts.push_back("evaluated, " + bits_of(evaluate()));
    return {facts, live_bytes()};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, parameter] : list) all.push_back(name + " " + to_string(parameter->value().shape()));
    return all;
  }

  const ModuleCase<Module>& subject;
  Random random;
  std::shared_ptr<Module> module;
  std::vector<Tensor> inputs;
  ParameterList list;
};

StoredParameter stored(const NamedParameter& entry) {
  const auto values = entry.parameter->value().read<float>();
  return {entry.name, Array::of(values.span(), entry.parameter->value().shape().extents()), "",
          entry.parameter->value().version(), numerics::digest(values.data(), static_cast<std::size_t>(values.size()))};
}

class ModuleChecks {
 public:
  ModuleChecks(const ModuleCase<Module>& subject, Checks& checks, Device device)
      : subject_(subject), checks_(checks), device_(device) {}

  void run() {
    registration();
    transfer();
    training();
    same_bits();
    add("FILE-1", "parameters that are saved and loaded by name bring the same bits to a model of another seed",
        [&] { file(); });
    add("CHECK-1", "the gradients are the central differences of the float64 reference", [&] { differences(); });
  }

 private:
  void add(const char* id, const char* promise, const std::function<void()>& check) {
    checks_.add(device_, id, promise, check);
  }
  Model made(std::uint64_t from = seed) const { return {subject_, device_, from}; }
  Outcome trained() const { return made().train(); }

  void registration() {
    add("ORD-2", "every parameter has a name of its own", [&] { require_valid(made().list, "parameters()", "ORD-2"); });
    add("ORD-3", "two calls of parameters() give the same names, order and identities", [&] {
      const Model model = made();
      const ParameterList again = model.module->parameters();
      expect(again.size() == model.list.size(), "the second list has another length");
      for (std::size_t i = 0; i < again.size(); ++i)
        expect(again[i].name == model.list[i].name && again[i].parameter == model.list[i].parameter,
               "entry " + std::to_string(i) + " was " + model.list[i].name + ", is " + again[i].name);
    });
    add("ORD-5", "every instance lists the same names and shapes in the same order", [&] {
      std::vector<Model> instances;
      for (int i = 0; i < 16; ++i) {
        instances.push_back(made());
        const std::vector<std::string> expected = instances[0].names(), found = instances.back().names();
        expect(expected.size() == found.size(), "instance " + std::to_string(i) + " has another number of parameters");
        for (std::size_t k = 0; k < found.size(); ++k)
          expect(found[k] == expected[k], "instance " + std::to_string(i) + ", entry " + std::to_string(k) +
                                              ": expected " + expected[k] + ", found " + found[k]);
      }
    });
    add("REG-10", "as a child it lists the same under its name, and registers nothing any more", [&] {
      const Model model = made();
      Open parent;
      parent.register_module("child", model.module);
      const ParameterList all = parent.parameters();
      expect(all.size() == model.list.size(), "the parent lists another number of parameters");
      for (std::size_t i = 0; i < all.size(); ++i)
        expect(all[i].name == "child." + model.list[i].name && all[i].parameter == model.list[i].parameter,
               "the parent lists " + all[i].name + " for " + model.list[i].name);
      Parameter late(Tensor::zeros({1}, device_));
      expect_refused([&] { (model.module.get()->*Open::add_parameter)("late", late); }, "REG-10", "registration");
    });
    add("REG-15", "what it uses of others under a name of its own is owned in its tree",
        [&] { made().module->aliases(); });
  }

  void transfer() {
    const Device other = other_than(device_);
    add("XFER-1", "it moves as a whole, and computes there", [&] {
      const Model model = made();
      for (const auto& [name, parameter] : model.list)
        expect(parameter->value().device() == device_, name + " is on " + to_string(parameter->value().device()));
      const Device found = model.evaluate().device();
      expect(found == device_, "the result is on " + to_string(found));
    });
    add("XFER-2", "a transfer of its parent that fails at any allocation, copy or launch changes nothing", [&] {
      for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch})
        for (Device where : {device_, other}) {
          const Model model = made();
          model.train();
          Open parent;
          Last sibling(device_);
          parent.register_module("child", model.module);
          parent.register_module("sibling", sibling);
          expect_atomic_under_faults(
              where, action, [&] { parent.to(other); }, [&] { return model.observe(); });
        }
    });
    add("XFER-5", "a round trip keeps every bit", [&] {
      const Model model = made();
      const Outcome expected = trained();
      model.module->to(other);
      model.module->to(device_);
      expect_same(expected, model.train(), "after the round trip");
    });
  }

  void training() {
    add("LIFE-9", "a backward pass reaches every parameter", [&] {
      const Model model = made();
      model.train();
      for (const auto& [name, parameter] : model.list)
        expect(parameter->has_pending_gradient(), name + " has no pending gradient");
    });
    add("LIFE-11", "frozen parameters give the same value and gather no gradient", [&] { frozen(); });
    add("GRAPH-3", "a failed allocation, copy or launch is told and changes no value, gradient or version", [&] {
      for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
        const Model model = made(), unhindered = made();
        model.train();
        const std::vector<Variable> leaves = leaves_of(model.inputs);
        expect_atomic_under_faults(
            device_, action, [&] { differentiate(model.forward(leaves)); }, [&] { return observe(model.list); });
        expect_same(unhindered.evaluate(), model.evaluate(), "after the failures");
      }
    });
    add("GRAPH-5", "a backward pass after a parameter was written is refused", [&] {
      const Model model = made();
      for (const auto& [name, parameter] : model.list) {
        const Variable result = model.forward(leaves_of(model.inputs));
        parameter->set_value(parameter->value());
        const Facts before = facts_of(model.list);
        expect_refused([&] { differentiate(result); }, "GRAPH-5", "a backward pass after " + name + " was written");
        expect_unchanged({before, {}}, {facts_of(model.list), {}}, "the refused pass");
      }
    });
    add("MODE-1", "the modes of the thread are afterwards what they were", [&] {
      const std::uint32_t before = thread_modes;
      trained();
      expect(thread_modes == before, "training, evaluation or recording was switched");
    });
    add("MODE-2", "evaluating draws no random number, writes nothing, and gives the same bits again", [&] {
      const Model model = made();
      const Facts before = facts_of(model.list);
      const std::vector<std::uint64_t> draws = model.draws();
      const Tensor first = model.evaluate();
      expect(model.draws() == draws, "a stream was drawn from");
      expect_same(first, model.evaluate(), "evaluated again");
      expect_unchanged({before, {}}, {facts_of(model.list), {}}, "a parameter");
    });
    add("RES-8", "it has the same bits in every pass", [&] {
      const Tensor expected = made().evaluate();
      const Model model = made();
      for (int pass = 1; pass < 4; ++pass) {
        const PassScope scope("pass " + std::to_string(pass));
        model.train();
        expect_same(expected, model.evaluate(), "pass " + std::to_string(pass));
      }
    });
    add("RES-10", "built, trained and destroyed it leaves the devices with what they held", [&] {
      trained();
      const std::vector<std::uint64_t> before = live_bytes();
      for (int i = 0; i < 3; ++i) trained();
      expect_unchanged({{}, before}, {{}, live_bytes()}, "three more");
    });
  }

  void same_bits() {
    add("NUM-5", "made again from the same seed it has the same bits", [&] {
      const Model one = made(), two = made();
      for (std::size_t i = 0; i < one.list.size(); ++i)
        expect_same(one.list[i].parameter->value(), two.list.at(i).parameter->value(), one.list[i].name);
      expect_same(one.train(), two.train(), "trained");
    });
    add("NUM-1", "any number of threads gives the same bits", [&] {
      const Outcome expected = (ThreadsScope(1), trained());
      for (int count : {2, 3, 7}) {
        const ThreadsScope scope(count);
        expect_same(expected, trained(), std::to_string(count) + " threads");
      }
    });
    add("GRAPH-12", "strided inputs give the bits of contiguous ones", [&] {
      Model model = made();
      for (Tensor& input : model.inputs) input = strided(input);
      expect_same(trained(), model.train(), "strided inputs");
    });
    if (!subject_.batched.empty())
      add("NUM-3", "a row of the result does not depend on the batch", [&] {
        Model model = made();
        const std::vector<Tensor> whole = model.inputs;
        const Tensor together = model.evaluate();
        const std::int64_t count = whole.at(subject_.batched[0]).shape()[0];
        for (std::int64_t row = 0; row < count; ++row) {
          for (std::size_t i : subject_.batched) model.inputs.at(i) = whole.at(i).slice(0, row, row + 1);
          expect_same(together.slice(0, row, row + 1), model.evaluate(), "row " + std::to_string(row));
        }
      });
    if (!(device_ == cpu))
      add("NUM-8", "it has the bits of the cpu, in any order of lanes", [&] {
        const Outcome expected = Model(subject_, cpu).train();
        in_any_order_of_lanes([&](const char* order) { expect_same(expected, trained(), order); });
      });
  }

  void frozen() {
    const Model model = made();
    const Tensor expected = model.evaluate();
    for (const NamedParameter& entry : model.list) entry.parameter->freeze();
    expect_same(expected, model.evaluate(), "evaluated while frozen");
    const Variable result = model.forward(leaves_of(model.inputs));
    if (result.requires_gradient()) differentiate(result);
    for (const NamedParameter& entry : model.list) {
      expect(!entry.parameter->has_pending_gradient(), entry.name + " gathered a gradient while frozen");
      entry.parameter->unfreeze();
    }
    model.train();
    for (const NamedParameter& entry : model.list)
      expect(entry.parameter->has_pending_gradient(), entry.name + " gathers no gradient after it was frozen");
  }

  void file() {
    const Folder folder;
    const Model source = made(), target = made(other_seed);
    const std::string path = checkpoint_path(folder.path(), 1);
    Checkpoint saved;
    for (const NamedParameter& entry : source.list) saved.parameters.push_back(stored(entry));
    save_checkpoint(path, saved);
    const Checkpoint loaded = load_checkpoint(path);
    for (std::size_t i = 0; i < target.list.size(); ++i) {
      const auto& [name, parameter] = target.list[i];
      const StoredParameter& from = loaded.parameters.at(i);
      expect(from.name == name, "entry " + std::to_string(i) + " of the file is " + from.name + ", not " + name);
      parameter->set_value(Tensor::from(from.value.values<float>(), Shape(from.value.shape), device_));
    }
    expect_same(source.evaluate(), target.evaluate(), "after loading");
  }

  void differences() {
    const Model model = made();
    GradcheckCase check{subject_.name, {}, {}, subject_.zeros};
    for (const NamedParameter& entry : model.list) check.leaves.push_back(entry.parameter->variable());
    std::vector<Variable> inputs = leaves_of(model.inputs);
    for (const Variable& input : inputs)
      if (input.requires_gradient()) check.leaves.push_back(input);
    expect(!check.leaves.empty(), "there is nothing to differentiate by");
    check.compute = [&] {
      const Device here = check.leaves[0].device();
      model.module->to(here);  // what it keeps beside its parameters
      std::vector<Variable> operands;
      for (const Variable& input : inputs)
        operands.push_back(input.requires_gradient() ? input : Variable(input.value().to(here)));
      return model.forward(operands);
    };
    const GradcheckResult result = gradcheck(check);
    expect(result.holds(), result.complaint);
  }

  const ModuleCase<Module>& subject_;
  Checks& checks_;
  Device device_;
};

}  // namespace

std::vector<Verdict> check_module(const ModuleCase<Module>& subject) {
  Checks checks(subject.name);
  for (Device device : devices()) ModuleChecks(subject, checks, device).run();
  return std::move(checks).verdicts();
}

}  // namespace assay::conformance
