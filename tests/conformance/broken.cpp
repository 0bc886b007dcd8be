// Operations, modules and optimisers that each break a promise on purpose: the checks must name it, and no other.
#define BOOST_TEST_MODULE broken
#include <boost/test/unit_test.hpp>
#include <set>
#include <unordered_map>

#include "autograd/ops.hpp"
#include "broken.hpp"
#include "conformance/module.hpp"
#include "conformance/operation.hpp"
#include "conformance/optimiser.hpp"
#include "conformance/tensors.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "kernels/multiply.hpp"
#include "kernels/record.hpp"
#include "nn/module.hpp"

using namespace assay;
using namespace assay::conformance;
using namespace example;

namespace {

using Ids = std::set<std::string>;

/// Stands among expected ids where the one thing that is broken breaks others with it.
const char* const others = "…";

void check_red(const std::vector<Verdict>& verdicts, const Ids& expected) {
  Ids found;
  std::string all;
  for (const Verdict& verdict : verdicts) {
    if (verdict.holds) continue;
    found.insert(verdict.id);
    all += "\n  " + text_of(verdict);
  }
  if (expected.count(others)) {
    for (const std::string& id : expected) BOOST_TEST((id == others || found.count(id)), id << " is not red:" << all);
  } else {
    BOOST_TEST(found == expected, "found red:" << all);
  }
}

void operation(const char* name, const Operation& compute, const Ids& expected) {
  BOOST_TEST_CONTEXT(name)
  check_red(check_operation(
                {.name = name, .compute = compute, .inputs = {drawn({4, 3}, 1), drawn({4, 3}, 2)}, .batched = {0, 1}}),
            expected);
}

template <class M>
void module(const char* name, const Ids& expected) {
  BOOST_TEST_CONTEXT(name)
  check_red(check_module<M>({.name = name,
                             .make = [](const Random& random) { return std::make_shared<M>(random); },
                             .forward = [](M& model, const auto& x) { return model.forward(x[0]); },
                             .inputs = {drawn({5, 3}, 1)},
                             .batched = {0}}),
            expected);
}

template <class O>
void optimiser(const char* name, const Ids& expected) {
  BOOST_TEST_CONTEXT(name)
  check_red(
      check_optimiser({.name = name, .make = [](ParameterList list) { return std::make_unique<O>(std::move(list)); }}),
      expected);
}

/// a·b with that gradient rule.
Variable product(const Variable& a, const Variable& b, const Vjp& rule) {
  return custom_gradient("product", kernels::multiply(a.value(), b.value()), {a, b}, rule);
}
Vjp product_rule(const Variable& a, const Variable& b) {
  return [a = a.value(), b = b.value()](const Tensor& g, const auto&) {
    return std::vector{kernels::multiply(g, b), kernels::multiply(g, a)};
  };
}
Variable times(const Variable& x, double factor) { return multiply(x, Variable(Tensor::full({}, factor, x.device()))); }

}  // namespace

BOOST_AUTO_TEST_CASE(operations) {
  operation("a product", [](const auto& x) { return product(x[0], x[1], product_rule(x[0], x[1])); }, {});
  operation("a wrong gradient",
            [](const auto& x) {
              return product(x[0], x[1], [a = x[0].value()](const Tensor& g, const auto&) {
                return std::vector{kernels::multiply(g, a), kernels::multiply(g, a)};
              });
            },
            {"CHECK-1"});
  operation("a wrong gradient by one input alone",
            [](const auto& x) {
              return product(x[0], x[1], [a = x[0].value(), b = x[1].value()](const Tensor& g, const auto& needed) {
                return std::vector{kernels::multiply(g, b), kernels::multiply(g, needed[0] ? a : b)};
              });
            },
            {"VJP-1"});
  operation("no gradient by the second input",
            [](const auto& x) { return product(x[0], Variable(x[1].value()), product_rule(x[0], x[1])); },
            {"CHECK-1", "VJP-1", "VJP-2"});
  operation(
      "one gradient only",
      [](const auto& x) { return product(x[0], x[1], [](const Tensor& g, const auto&) { return std::vector{g}; }); },
      {"VJP-2", others});
  operation("a rule that can run once",
            [](const auto& x) {
              auto rule = std::make_shared<Vjp>(product_rule(x[0], x[1]));
              return product(x[0], x[1], [rule](const Tensor& g, const auto& needed) {
                return std::exchange(*rule, [](const Tensor& upstream, const auto&) {
                  return std::vector{upstream, upstream};
                })(g, needed);
              });
            },
            {"GRAPH-4"});
  operation("a rule that writes an operand",
            [](const auto& x) {
              return product(x[0], x[1], [a = x[0].value(), b = x[1].value()](const Tensor& g, const auto&) {
                std::vector gradients{kernels::multiply(g, b), kernels::multiply(g, a)};
                kernels::copy_into(kernels::copy(a), a);
                return gradients;
              });
            },
            {"GRAPH-3", "GRAPH-4"});
  operation("a result that is always on the cpu",
            [](const auto& x) {
              const Device device = x[0].device();
              const Tensor value = kernels::multiply(x[0].value(), x[1].value());
              return custom_gradient("product", value.to(device == reference_device ? device : cpu), {x[0], x[1]},
                                     [device, rule = product_rule(x[0], x[1])](const Tensor& g, const auto& needed) {
                                       return rule(g.to(device), needed);
                                     });
            },
            {"GRAPH-13"});
  operation("rows that meet", [](const auto& x) { return add(multiply(x[0], x[1]), mean(x[0], {0})); }, {"NUM-3"});
  operation("one that depends on the number of threads",
            [](const auto& x) { return times(multiply(x[0], x[1]), threads() > 1 ? 1 + 0x1p-22 : 1); }, {"NUM-1"});
  operation("one that depends on the device",
            [](const auto& x) { return times(multiply(x[0], x[1]), x[0].device() == simulated ? 1 + 0x1p-22 : 1); },
            {"NUM-8"});
  operation("one that depends on the strides",
            [](const auto& x) { return times(multiply(x[0], x[1]), x[0].value().contiguous() ? 1 : 1 + 0x1p-22); },
            {"GRAPH-12"});
  operation(
      "a gradient of its own making",
      [](const auto& x) { return multiply(multiply(x[0], x[1]), Variable::leaf(Tensor::full({}, 1, x[0].device()))); },
      {"VJP-6"});
  operation("a failure that it keeps to itself",
            [](const auto& x) {
              try {
                return product(x[0], x[1], product_rule(x[0], x[1]));
              } catch (const Error&) {
                return times(x[0], 0);
              }
            },
            {"RES-6"});
  std::vector<Variable> kept;
  operation("memory that it keeps",
            [&](const auto& x) {
              kept.push_back(product(x[0], x[1], product_rule(x[0], x[1])));
              return kept.back();
            },
            {"RES-10", "RES-6"});
}

BOOST_AUTO_TEST_CASE(kernels_of_cuda) {
  operation("neighbours", [](const auto& x) { return multiply(beside(x[0], Barrier::for_all), x[1]); }, {});
  operation("a barrier that is missing", [](const auto& x) { return multiply(beside(x[0], Barrier::none), x[1]); },
            {"NUM-8"});
  operation("a barrier that not every lane reaches",
            [](const auto& x) { return multiply(beside(x[0], Barrier::for_some), x[1]); }, {"RES-6", others});
  operation("lanes that write beyond their row", [](const auto& x) { return multiply(beyond(x[0]), x[1]); }, {"NUM-8"});
}

namespace {

struct HashOfAddress {
  std::size_t operator()(const Parameter* parameter) const {
    return reinterpret_cast<std::uintptr_t>(parameter) * 0x9E3779B97F4A7C15u >> 24;
  }
};

/// y = x·w for each of some parameters, listed in the order of a hash map.
class OrderOfAMap final : public Module {
 public:
  explicit OrderOfAMap(const Random&) {
    std::unordered_map<const Parameter*, std::string, HashOfAddress> names;
    for (int i = 0; i < 8; ++i) {
      made_.push_back(std::make_unique<Parameter>(drawn({3}, static_cast<std::uint64_t>(i), 0.5, 1)));
      names[made_.back().get()] = "w" + std::to_string(i);
    }
    for (const auto& [parameter, name] : names) register_parameter(name, *const_cast<Parameter*>(parameter));
  }
  Variable forward(Variable x) const {
    for (const auto& parameter : made_) x = multiply(x, parameter->variable());
    return x;
  }

 private:
  std::vector<std::unique_ptr<Parameter>> made_;
};

/// What the modules below have in common: y = x·w.
class Scaling : public Module {
 public:
  explicit Scaling(const Random& random) : w_(drawn({3}, random["w"].stream()->key(), 0.5, 1.5)) {
    register_parameter("w", w_);
  }
  Variable forward(const Variable& x) const { return multiply(x, w_.variable()); }

 protected:
  Parameter w_;
};

struct Unused final : Scaling {
  explicit Unused(const Random& random) : Scaling(random), unused(Tensor::zeros({2})) {
    register_parameter("unused", unused);
  }
  Parameter unused;
};

struct Unregistered final : Scaling {
  using Scaling::Scaling;
  Variable forward(const Variable& x) const { return add(Scaling::forward(x), bias.variable()); }
  Parameter bias{Tensor::full({3}, 0.5)};
};

/// y = x·w·c, with c drawn anew for each model and in no file.
struct NotInTheFile : Scaling {
  explicit NotInTheFile(const Random& random)
      : Scaling(random), constant(drawn({3}, random["c"].stream()->key(), 0.5, 1)) {}
  void stage_transfer(Transfer& transfer) override { transfer.stage(constant); }
  Variable forward(const Variable& x) const { return multiply(Scaling::forward(x), Variable(constant)); }
  Tensor constant;
};

struct MovesAtOnce final : Scaling {
  explicit MovesAtOnce(const Random& random) : Scaling(random), constant(Tensor::full({3}, 0.5)) {}
  void stage_transfer(Transfer& transfer) override { constant = constant.to(transfer.device()); }
  Variable forward(const Variable& x) const { return multiply(Scaling::forward(x), Variable(constant)); }
  Tensor constant;
};

struct DrawsAlways final : Scaling {
  explicit DrawsAlways(const Random& random) : Scaling(random), stream(random["noise"].stream()) {}
  Variable forward(const Variable& x) const {
    stream->next_draw();
    return Scaling::forward(x);
  }
  std::shared_ptr<Stream> stream;
};

/// Random numbers that come from no stream.
struct ADrawForEachModel final : Scaling {
  explicit ADrawForEachModel(const Random& random) : Scaling(random) {
    static std::uint64_t state = 0;
    w_.set_value(drawn({3}, ++state, 0.5, 1));
  }
};

struct KeepsItsLeaf final : Scaling {
  explicit KeepsItsLeaf(const Random& random) : Scaling(random), leaf(w_.variable()) {}
  Variable forward(const Variable& x) const { return multiply(x, leaf); }
  Variable leaf;
};

/// Computes w + 0 once and keeps it from pass to pass.
struct KeepsAResult final : Scaling {
  using Scaling::Scaling;
  Variable forward(const Variable& x) {
    if (!zero.defined() || !(zero.device() == x.device())) zero = Tensor::zeros({3}, x.device());
    return add(Scaling::forward(x), Variable(zero));
  }
  Tensor zero;
};

struct OwnsItself final : Scaling {
  explicit OwnsItself(const Random& random) : Scaling(random), kept(std::make_shared<Node>()) {
    kept->value = w_.handle();
    kept->self = kept;
  }
  struct Node {
    ParameterHandle value;
    std::shared_ptr<Node> self;
  };
  std::shared_ptr<Node> kept;
};

struct MeetingRows final : Scaling {
  using Scaling::Scaling;
  Variable forward(const Variable& x) const { return subtract(Scaling::forward(x), mean(x, {0})); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(modules) {
  module<Scaling>("scaling", {});
  module<OrderOfAMap>("the order of a map", {"ORD-5", others});
  module<Unused>("a parameter without use", {"CHECK-1", "GRAPH-5", "LIFE-11", "LIFE-9"});
  module<Unregistered>("a parameter that is not registered", {"XFER-1", "CHECK-1", others});
  module<NotInTheFile>("a constant that is in no file", {"FILE-1"});
  module<MovesAtOnce>("a constant that moves at once", {"XFER-2"});
  module<DrawsAlways>("a draw in every forward", {"MODE-2"});
  module<ADrawForEachModel>("random numbers of its own", {"NUM-5", others});
  module<KeepsItsLeaf>("a leaf that it keeps", {"LIFE-11"});
  module<KeepsAResult>("a result that it keeps", {"RES-8"});
  module<OwnsItself>("one that owns itself", {"RES-10"});
  module<MeetingRows>("rows that meet", {"NUM-3"});
}

namespace {

/// Plain descent, w = w − η·g, on one thing after another.
class Descent : public Optimiser {
 public:
  explicit Descent(ParameterList list) : Optimiser("descent", {{std::move(list), 0, false}}, {}) {}

 protected:
  void look(const Step& step) const override {
    std::vector<std::uint64_t> finite;
    for (const Update& update : step.updates) {
      const Tensor result = next(update, step);
      const auto values = doubles(result);
      finite.push_back(std::all_of(values.begin(), values.end(), [](double value) { return value - value == 0; }));
      if (at_once() && finite.back()) write({{result, update.parameter.parameter->value()}});
    }
    kernels::write_slots(step.slots, finite);
  }
  void update(const Step& step) const override {
    if (at_once()) return;
    if (!kernels::all_set(step.slots.read<std::uint64_t>().data(), step.updates.size())) return;
    Copies copies;
    for (const Update& update : step.updates)
      copies.emplace_back(next(update, step), update.parameter.parameter->value());
    write(copies);
    for (const Update& update : step.updates) afterwards(*update.parameter.parameter);
  }
  Tensor next(const Update& update, const Step& step) const {
    const Parameter& parameter = *update.parameter.parameter;
    return next(parameter.value(), parameter.gradient(), step.learning_rate, step.number);
  }
  virtual Tensor next(const Tensor& w, const Tensor& g, double rate, std::uint64_t) const {
    return kernels::add(w, kernels::multiply(g, Tensor::full({}, -rate, w.device())));
  }
  virtual bool at_once() const { return false; }
  virtual void afterwards(Parameter&) const {}

 private:
  using Copies = std::vector<std::pair<Tensor, Tensor>>;
  /// All or, when the launch fails, none.
  static void write(const Copies& copies) {
    using namespace assay::kernels;
    const auto write_all = [&](Device device) {
      for (const auto& [from, to] : copies) ASSAY_KERNEL(copy)(device, operand(from), operand(OutUncounted{to}));
    };
    launch(copies[0].first.device(), named("descent", write_all));
  }
  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }
};

struct WritesAsItGoes final : Descent {
  using Descent::Descent;
  bool at_once() const override { return true; }
};
struct ZeroesGradients final : Descent {
  using Descent::Descent;
  void afterwards(Parameter& parameter) const override { parameter.zero_gradient(); }
};
struct WritesTwice final : Descent {
  using Descent::Descent;
  void afterwards(Parameter& parameter) const override {
    kernels::copy_into(kernels::copy(parameter.value()), parameter.value());
  }
};
/// Slower with every step, which no state tells.
struct HiddenState final : Descent {
  using Descent::Descent;
  Tensor next(const Tensor& w, const Tensor& g, double rate, std::uint64_t step) const override {
    return Descent::next(w, g, rate / static_cast<double>(1 + steps++ / 3), step);
  }
  mutable std::uint64_t steps = 0;
};
/// Passes over elements that are not finite.
struct SkipsNan final : Descent {
  using Descent::Descent;
  Tensor next(const Tensor& w, const Tensor& g, double rate, std::uint64_t step) const override {
    const Tensor result = Descent::next(w, g, rate, step);
    for (double value : doubles(result))
      if (value - value != 0) return kernels::copy(w);
    return result;
  }
};
struct DependsOnStrides final : Descent {
  using Descent::Descent;
  Tensor next(const Tensor& w, const Tensor& g, double rate, std::uint64_t step) const override {
    return Descent::next(w, g, g.contiguous() ? rate : 2 * rate, step);
  }
};
struct TakesAnyList final : Descent {
  explicit TakesAnyList(ParameterList list) : Descent(list.empty() ? ParameterList{{"p", spare.handle()}} : list) {}
  static inline Parameter spare{Tensor::zeros({1})};
};

}  // namespace

BOOST_AUTO_TEST_CASE(optimisers) {
  optimiser<Descent>("descent", {});
  optimiser<WritesAsItGoes>("one that writes as it goes", {"OPT-3", "RES-6"});
  optimiser<ZeroesGradients>("one that zeroes gradients", {"OPT-4"});
  optimiser<WritesTwice>("one that writes twice", {"ACC-5", "RES-6"});
  optimiser<HiddenState>("a state that is hidden", {"OPT-3", "OPT-7", "RES-6"});
  optimiser<SkipsNan>("one that passes over NaN", {"OPT-3", "OPT-5"});
  optimiser<DependsOnStrides>("one that depends on strides", {"NUM-4"});
  optimiser<TakesAnyList>("one that takes any list", {"OPT-1"});
}
