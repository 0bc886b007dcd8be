// The comparison of gradients with central differences, and putting everything back.
#include "autograd/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/sabotage.hpp"
#include "numerics/philox.hpp"
#include "numerics/random.hpp"

namespace assay {
namespace {

constexpr double reference_step = 1e-5, device_step = 0x1p-6, about_zero = 1e-6;

std::vector<double> doubles(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) {
    auto values = tensor.read<decltype(zero)>();
    return std::vector<double>(values.begin(), values.end());
  });
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Adds to one element.
void perturb(Tensor tensor, std::int64_t element, double by) {
  with_type(tensor.dtype(), [&](auto zero) {
    auto lease = tensor.edit<decltype(zero)>();
    lease[element] = static_cast<decltype(zero)>(lease[element] + by);
    if (sabotaged("gradcheck_perturbs_nothing"))
      lease.discard();
    else
      lease.commit();
  });
}

/// A leaf as it was.
class Before {
 public:
  explicit Before(const Variable& leaf) : leaf_(leaf), value_(leaf.value()) {
    Tensor gradient = leaf.gradient();
    if (leaf.has_pending_gradient()) gradient_ = gradient;
    write_ = with_type(value_.dtype(), [&](auto zero) {
      using T = decltype(zero);
      return std::function<void()>([value = value_, bits = value_.read<T>()]() mutable {
        auto lease = value.edit<T>();
        std::copy(bits.begin(), bits.end(), lease.span().begin());
        lease.commit();
      });
    });
  }
  void restore_value() {
    if (!sabotaged("gradcheck_keeps_its_value")) write_();
  }
  void restore() {
    leaf_.replace_value(value_);
    restore_value();
    if (gradient_.defined() && !sabotaged("gradcheck_keeps_its_gradient")) leaf_.set_gradient(gradient_);
  }

 private:
  Variable leaf_;
  Tensor value_, gradient_;
  std::function<void()> write_;
};

/// The check of one case, between its saved and its restored leaves.
class Check {
 public:
  Check(const GradcheckCase& check, std::vector<Before>& before, std::vector<DrawScope::Entry>& draws)
      : check_(check), before_(before), draws_(draws), leaves_(check.leaves), result_{check.name, 0, 0, ""} {}

  GradcheckResult run() {
    differentiate();
    for (std::size_t i = 0; i < leaves_.size(); ++i) move(i);
    for (Variable& leaf : leaves_) leaf.replace_value(leaf.value().to(reference_device));
    for (std::size_t i = 0; i < leaves_.size(); ++i) differences_.push_back(differences(i));
    scale_ = 0;
    for (const auto& all : differences_) scale_ = std::max(scale_, largest_of(all));
    for (std::size_t i = 0; i < leaves_.size(); ++i) compare(i);
    return result_;
  }

 private:
  void complain(std::size_t leaf, std::optional<std::int64_t> element, const std::string& what) {
    if (!result_.holds()) return;
    result_.complaint = "leaf " + std::to_string(leaf);
    if (element) result_.complaint += " element " + std::to_string(*element);
    result_.complaint += ": " + what;
  }

  // The gradients on the device, with which everything else is compared.
  void differentiate() {
    tolerance_ = leaves_.at(0).device() == reference_device ? 1e-6 : 2e-5;
    for (Variable& leaf : leaves_) leaf.zero_gradient();
    DrawScope record(draws_, DrawScope::Mode::record);
    Variable y = check_.compute();
    for (std::int64_t i = 0; i < y.shape().size(); ++i)
      weights_.push_back(0.5 + numerics::uniform(99, static_cast<std::uint64_t>(i), 0));
    y.backward(Tensor::from(weights_, y.shape(), y.device()));
    for (const Variable& leaf : leaves_) gradients_.push_back(doubles(leaf.gradient()));
  }

  double loss() {
    NoGradScope scope;
    DrawScope replay(draws_, DrawScope::Mode::replay);
    const std::vector<double> y = doubles(check_.compute().value());
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights_.at(i) * y[i];
    return sum;
  }

  // How much the loss changes on the device, for each element.
  void move(std::size_t leaf) {
    std::vector<double> moved;
    const double here = loss();
    for (std::int64_t k = 0; k < leaves_[leaf].shape().size(); ++k) {
      perturb(leaves_[leaf].value(), k,
              device_step * (sabotaged("gradcheck_counts_writes") ? leaves_[leaf].value().version() : 1));
      moved.push_back(loss() - here);
      before_[leaf].restore_value();
    }
    moved_.push_back(std::move(moved));
  }

  std::vector<double> differences(std::size_t leaf) {
    std::vector<double> slopes;
    Tensor value = leaves_[leaf].value();
    for (std::int64_t k = 0; k < value.size(); ++k) {
      const double before = value.read<double>()[k];
      auto at = [&](double step) {
        perturb(value, k, step);
        const double there = loss();
        perturb(value, k, before - value.read<double>()[k]);
        return there;
      };
      slopes.push_back((at(reference_step) - at(-reference_step)) / (2 * reference_step));
    }
    return slopes;
  }

  void compare(std::size_t leaf) {
    const std::vector<double>&gradient = gradients_[leaf], &difference = differences_[leaf];
    const double largest = largest_of(difference);
    bool all_listed = true;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      const auto element = static_cast<std::int64_t>(k);
      auto listed = std::find_if(check_.zeros.begin(), check_.zeros.end(), [&](const ZeroGradient& zero) {
        return zero.leaf == leaf && zero.begin <= element && element < zero.end;
      });
      if (listed != check_.zeros.end()) {
        const double most = about_zero * scale_;
        if (!(std::abs(gradient[k]) <= most && std::abs(difference[k]) <= most) &&
            !sabotaged("gradcheck_trusts_its_list"))
          complain(leaf, element, "a gradient of zero was expected (" + listed->reason + "), found " + words(leaf, k));
        continue;
      }
      all_listed = false;
      double error = std::abs(gradient[k] - difference[k]) / (largest > 0 ? largest : 1);
      if (sabotaged("gradcheck_compares_nothing")) error = 0;
      if (!(error <= result_.worst_error)) result_.worst_error = error;
      if (!(error <= tolerance_)) complain(leaf, element, words(leaf, k));
      if (std::abs(difference[k]) > 1e-3 * largest && moved_[leaf][k] == 0 && !sabotaged("gradcheck_ignores_movement"))
        complain(leaf, element, "inconclusive, the loss does not move");
    }
    if (all_listed) return;
    if (!(largest > about_zero * scale_) && !sabotaged("gradcheck_takes_zeros"))
      complain(leaf, {}, "inconclusive, its gradient is zero");
    const double movement = largest_of(moved_[leaf]);
    result_.movement = result_.movement == 0 ? movement : std::min(result_.movement, movement);
  }

  std::string words(std::size_t leaf, std::size_t k) const {
    std::ostringstream text;
    text << "the gradient is " << gradients_[leaf][k] << ", central differences give " << differences_[leaf][k];
    return text.str();
  }

  const GradcheckCase& check_;
  std::vector<Before>& before_;
  std::vector<DrawScope::Entry>& draws_;
  std::vector<Variable> leaves_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> gradients_, moved_, differences_;  // of each leaf
  double tolerance_ = 0, scale_ = 0;
  GradcheckResult result_;
};

}  // namespace

GradcheckResult gradcheck(const GradcheckCase& check) {
  std::vector<Before> before(check.leaves.begin(), check.leaves.end());
  std::vector<DrawScope::Entry> draws;
  auto put_back = [&] {
    for (Before& leaf : before) leaf.restore();
    if (!sabotaged("gradcheck_keeps_its_draws")) DrawScope::take_back(draws);
  };
  try {
    GradcheckResult result = Check(check, before, draws).run();
    put_back();
    return result;
  } catch (...) {
    put_back();
    throw;
  }
}

}  // namespace assay
