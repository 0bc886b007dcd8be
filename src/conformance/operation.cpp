// The checks of one operation.
#include "conformance/operation.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "conformance/observed.hpp"
#include "conformance/tensors.hpp"
#include "device/pass.hpp"

namespace assay::conformance {
namespace {

bool is_real(const Tensor& tensor) { return tensor.dtype() == real(tensor.device()); }

std::vector<Tensor> moved(const std::vector<Tensor>& tensors, Device device) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.to(device));
  return all;
}

/// Expects every element within `ulps` units in the last place of the largest expected one.
void expect_close(const Tensor& oracle, const Tensor& found, double ulps, const std::string& what) {
  expect(oracle.shape() == found.shape(),
         what + " has shape " + to_string(found.shape()) + ", on reference " + to_string(oracle.shape()));
  const std::vector<double> a = doubles(oracle), b = doubles(found);
  double largest = 0;
  for (double value : a) largest = std::max({largest, value, -value});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    if (apart <= ulps * largest * 0x1p-23 || a[i] == b[i]) continue;
    std::ostringstream text;
    text << what << ", element " << i << ": float64 gives " << a[i] << ", found " << b[i] << ", " << ulps
         << " ULP of the largest are allowed";
    throw Broken(text.str());
  }
}

class OperationChecks {
 public:
  OperationChecks(const OperationCase& subject, Checks& checks, Device device)
      : subject_(subject), checks_(checks), device_(device) {}

  void run() {
    add("GRAPH-13", "the result is on the device of the inputs", [&] {
      const Tensor value = subject_.compute(leaves_of(inputs())).value();
      expect(value.device() == device_, "it is on " + to_string(value.device()));
    });
    add("VJP-2", "each input gets one gradient, of its shape and on its device", [&] {
      const std::vector<Variable> leaves = leaves_of(inputs());
      const Variable result = subject_.compute(leaves);
      differentiate(result);
      for (std::size_t i = 0; i < leaves.size(); ++i)
        expect(!leaves[i].requires_gradient() || leaves[i].has_pending_gradient(),
               "input " + std::to_string(i) + " got none");
    });
    add("VJP-1", "the gradient by one input alone has the bits that it has beside the others", [&] { one_by_one(); });
    add("VJP-6", "without an input that requires a gradient the value is the same and nothing is recorded",
        [&] { as_data(); });
    add("GRAPH-3", "neither the operation nor its gradient rule writes an operand or the upstream gradient",
        [&] { writes_nothing(); });
    add("GRAPH-4", "a second backward pass adds the same gradients once more", [&] { twice(); });
    add("GRAPH-5", "a backward pass after an input was written is refused", [&] { stale(); });
    add("GRAPH-12", "strided inputs give the bits of contiguous ones", [&] {
      std::vector<Tensor> views;
      for (const Tensor& input : inputs()) views.push_back(strided(input));
      expect_same(found(), outcome(subject_.compute, views), "strided inputs");
    });
    add("MODE-1", "the modes of the thread are afterwards what they were", [&] {
      const std::uint32_t before = thread_modes;
      found();
      expect(thread_modes == before, "training, evaluation or recording was switched");
    });
    add("RES-6", "a failed allocation, copy or launch is told, changes nothing, and the next call works",
        [&] { faults(); });
    add("RES-8", "it has the same bits in every pass", [&] {
      const Outcome expected = found();
      for (int pass = 1; pass < 4; ++pass) {
        const PassScope scope("pass " + std::to_string(pass));
        expect_same(expected, found(), "pass " + std::to_string(pass));
      }
    });
    add("RES-10", "afterwards the devices hold what they held", [&] {
      found();
      const std::vector<std::uint64_t> before = live_bytes();
      for (int i = 0; i < 3; ++i) found();
      expect_unchanged({{}, before}, {{}, live_bytes()}, "three more calls");
    });
    add("NUM-1", "any number of threads gives the same bits", [&] {
      const Outcome expected = (ThreadsScope(1), found());
      for (int count : {2, 3, 7}) {
        const ThreadsScope scope(count);
        expect_same(expected, found(), std::to_string(count) + " threads");
      }
    });
    if (!subject_.batched.empty()) add("NUM-3", "a row of the result does not depend on the batch", [&] { rows(); });
    if (!(device_ == cpu))
      add("NUM-8", "it has the bits of the cpu, in any order of lanes", [&] {
        const Outcome expected = outcome(subject_.compute, moved(subject_.inputs, cpu));
        in_any_order_of_lanes([&](const char* order) { expect_same(expected, found(), order); });
      });
    add("CHECK-1", "value and gradients are those of the float64 reference, up to rounding", [&] { close(); });
    add("CHECK-1", "the gradients are the central differences of the float64 reference", [&] { differences(); });
  }

 private:
  void add(const char* id, const char* promise, const std::function<void()>& check) {
    checks_.add(device_, id, promise, check);
  }
  std::vector<Tensor> inputs() const { return moved(subject_.inputs, device_); }
  Outcome found() const { return outcome(subject_.compute, inputs()); }

  void one_by_one() {
    const Outcome all = found();
    const std::vector<Tensor> tensors = inputs();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!is_real(tensors[i])) continue;
      std::vector<Variable> operands(tensors.begin(), tensors.end());
      operands[i] = Variable::leaf(tensors[i]);
      const Variable result = subject_.compute(operands);
      differentiate(result);
      expect_same(all.gradients[i], operands[i].gradient(), "input " + std::to_string(i));
    }
  }

  void as_data() {
    const std::vector<Tensor> tensors = inputs();
    const Variable data = subject_.compute({tensors.begin(), tensors.end()});
    expect_same(found().value, data.value(), "of data");
    expect(!data.requires_gradient(), "the result of data requires a gradient");
    const NoGradScope scope;
    const Variable unrecorded = subject_.compute(leaves_of(tensors));
    expect_same(data.value(), unrecorded.value(), "in a NoGradScope");
    expect(!unrecorded.requires_gradient(), "the result in a NoGradScope requires a gradient");
  }

  void writes_nothing() {
    const std::vector<Tensor> tensors = inputs();
    const std::vector<Variable> data(tensors.begin(), tensors.end());
    const Facts before = facts_of(data);
    const Variable result = subject_.compute(leaves_of(tensors));
    const Tensor weights = drawn(result.shape(), 99, 0.5, 1.5, result.device());
    const std::string weights_before = bits_of(weights), value_before = bits_of(result.value());
    result.backward(weights);
    expect_unchanged({before, {}}, {facts_of(data), {}}, "an operand");
    expect(bits_of(weights) == weights_before, "the upstream gradient was written");
    expect(bits_of(result.value()) == value_before, "the result was written by the gradient rule");
  }

  void twice() {
    const std::vector<Variable> leaves = leaves_of(inputs());
    const Variable result = subject_.compute(leaves);
    const Outcome once = found();
    differentiate(result);
    differentiate(result);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].requires_gradient()) continue;
      const std::vector<double> one = doubles(once.gradients[i]), two = doubles(leaves[i].gradient());
      for (std::size_t k = 0; k < one.size(); ++k)
        expect(two[k] == 2 * one[k] || one[k] != one[k],
               "input " + std::to_string(i) + ", element " + std::to_string(k) + " has not doubled");
    }
  }

  void stale() {
    for (std::size_t i = 0; i < subject_.inputs.size(); ++i) {
      const std::vector<Variable> leaves = leaves_of(inputs());
      if (!leaves[i].requires_gradient()) continue;
      const Variable result = subject_.compute(leaves);
      Tensor(leaves[i].value()).write(leaves[i].value().read<float>().span());
      const Facts before = facts_of(leaves);
      expect_refused([&] { differentiate(result); }, "GRAPH-5",
                     "a backward pass after input " + std::to_string(i) + " was written");
      expect_unchanged({before, {}}, {facts_of(leaves), {}}, "the refused pass");
    }
  }

  void faults() {
    const Outcome expected = found();
    const std::vector<Variable> leaves = leaves_of(inputs());
    for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
      for (const Variable& leaf : leaves)
        if (leaf.requires_gradient()) Variable(leaf).zero_gradient();
      expect_atomic_under_faults(
          device_, action,
          [&] {
            const Variable result = subject_.compute(leaves);
            differentiate(result);
          },
          [&] { return observe(leaves); });
      for (std::size_t i = 0; i < leaves.size(); ++i)
        if (leaves[i].requires_gradient())
          expect_same(expected.gradients[i], leaves[i].gradient(), "after the failures, gradient " + std::to_string(i));
    }
  }

  void rows() {
    const std::vector<Tensor> whole = inputs();
    const std::vector<Variable> data(whole.begin(), whole.end());
    const Tensor together = subject_.compute(data).value();
    const std::int64_t count = whole.at(subject_.batched[0]).shape()[0];
    for (std::int64_t row = 0; row < count; ++row) {
      std::vector<Variable> alone = data;
      for (std::size_t i : subject_.batched) alone.at(i) = whole.at(i).slice(0, row, row + 1);
      expect_same(together.slice(0, row, row + 1), subject_.compute(alone).value(), "row " + std::to_string(row));
    }
  }

  void close() {
    const Outcome oracle = outcome(subject_.compute, moved(subject_.inputs, reference_device)), here = found();
    expect_close(oracle.value, here.value, subject_.ulps, "the value");
    for (std::size_t i = 0; i < here.gradients.size(); ++i)
      if (here.gradients[i].defined())
        expect_close(oracle.gradients[i], here.gradients[i], subject_.ulps, "gradient " + std::to_string(i));
  }

  void differences() {
    const std::vector<Tensor> tensors = inputs();
    GradcheckCase check{subject_.name, {}, {}, {}};
    std::vector<std::optional<std::size_t>> place(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!is_real(tensors[i])) continue;
      place[i] = check.leaves.size();
      check.leaves.push_back(Variable::leaf(tensors[i]));
    }
    expect(!check.leaves.empty(), "no input is of real numbers");
    for (ZeroGradient zero : subject_.zeros) {
      zero.leaf = place.at(zero.leaf).value();
      check.zeros.push_back(zero);
    }
    check.compute = [&] {
      std::vector<Variable> operands;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        operands.push_back(place[i] ? check.leaves[*place[i]] : Variable(tensors[i].to(check.leaves[0].device())));
      return subject_.compute(operands);
    };
    const GradcheckResult result = gradcheck(check);
    expect(result.holds(), result.complaint);
  }

  const OperationCase& subject_;
  Checks& checks_;
  Device device_;
};

}  // namespace

std::vector<Variable> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Variable> leaves;
  for (const Tensor& input : inputs) leaves.push_back(is_real(input) ? Variable::leaf(input) : Variable(input));
  return leaves;
}

void differentiate(const Variable& result) { result.backward(drawn(result.shape(), 99, 0.5, 1.5, result.device())); }

Outcome outcome(const Operation& operation, const std::vector<Tensor>& inputs) {
  const std::vector<Variable> leaves = leaves_of(inputs);
  const Variable result = operation(leaves);
  differentiate(result);
  Outcome all{result.value(), {}};
  for (const Variable& leaf : leaves) all.gradients.push_back(leaf.requires_gradient() ? leaf.gradient() : Tensor());
  return all;
}

std::string difference(const Outcome& expected, const Outcome& found) {
  std::string text = difference(expected.value, found.value);
  if (!text.empty()) return "value, " + text;
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    if (expected.gradients[i].defined()) text = difference(expected.gradients[i], found.gradients.at(i));
    if (!text.empty()) return "gradient " + std::to_string(i) + ", " + text;
  }
  return "";
}

std::vector<Verdict> check_operation(const OperationCase& subject) {
  Checks checks(subject.name);
  for (Device device : devices()) OperationChecks(subject, checks, device).run();
  return std::move(checks).verdicts();
}

}  // namespace assay::conformance
