// How the distance between two runs grows over their common checkpoints, and what null runs say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_file.hpp"

namespace assay {

/// Distances of one parameter, or of all parameters as one vector, with one value for each step of a curve.
struct Distances {
  std::string name;  ///< "fc1.weight"; "all" for all together
  /// ‖a − b‖ / ‖a‖, both norms summed in float64 from the first element to the last; infinity where only ‖a‖ is 0.
  std::vector<double> relative;
  /// Of the ULPs from element to element; of an even number of elements the lower of the two in the middle.
  std::vector<std::uint64_t> median_ulp;
  std::vector<std::uint64_t> max_ulp;
};

/// The straight line through log2 of the distances by least squares, over the steps at which it grows.
struct DoublingTime {
  double steps = 0;  ///< in which the distance doubles
  std::uint64_t from = 0, to = 0;
  double r_squared = 0;  ///< how much of the course the line explains: near 1, growth is exponential
};

/// From the first distance above 0 to the last one before the first that reaches half of the largest: behind that it
/// is saturated. None when these are fewer than three steps or the line does not rise by one doubling over them.
///
///     doubling_time(std::vector<std::uint64_t>{1, 2, 3, 4, 5}, std::vector<double>{1, 2, 4, 8, 16})->steps;  // 1
std::optional<DoublingTime> doubling_time(std::span<const std::uint64_t> steps, std::span<const double> distances);

/// Two runs at the checkpoints that they have in common.
struct GrowthCurve {
  std::vector<std::uint64_t> steps;
  Distances all{"all", {}, {}, {}};
  std::vector<Distances> parameters;  ///< in the order of the checkpoints

  /// Two checkpoints of one step, in ascending order of steps. ULPs are those of float32 unless both are float64.
  /// Errors: CMP-4 for other parameters or shapes than each other's, naming the first.
  void add(const Checkpoint& a, const Checkpoint& b);
};

/// |difference| of the loss of each step's batch. A NaN beside a number is infinitely far.
struct LossDistance {
  double largest = 0, last = 0;
  std::uint64_t step = 0;  ///< of the largest one
};

LossDistance loss_distance(std::span<const double> a, std::span<const double> b);

struct Metric {
  std::string name;
  double a = 0, b = 0;
};

/// test_accuracy and test_loss of two complete runs; else empty.
std::vector<Metric> final_metrics(const RunHead& a, const RunHead& b);

/// A run beside A that shows how far apart runs are without a mistake.
struct NullRun {
  std::string folder;
  bool other_seed = false;  ///< else one ULP: it differs from A in `model.perturbed` alone
  GrowthCurve curve;        ///< of A and this run
  LossDistance loss;
  std::vector<Metric> metrics;  ///< of A and this run, when both are complete after as many steps
};

/// Growth from A to B and, where null runs were given, the verdict on it.
struct Growth {
  /// The step at which the distance comes nearest to its limit, or is furthest above.
  struct Limit {
    std::size_t steps = 0;  ///< at which both are known
    std::uint64_t step = 0;
    double distance = 0, limit = 0;
  };
  /// Where a metric of a run of another seed lies with a probability of 95 %.
  struct Band {
    std::string metric;
    double b = 0, low = 0, high = 0;
    std::size_t runs = 0;  ///< A and the other seeds

    bool outside() const { return !(low <= b && b <= high); }
  };

  GrowthCurve curve;
  LossDistance loss;
  std::vector<NullRun> nulls;
  std::string verdict;  ///< "rounding", "within seed noise", "suspicious", "diverged"; empty: the nulls do not say
  std::string reason = "no null band: give --null";  ///< what decided, or which nulls are missing
  std::optional<Limit> rounding, seeds;
  std::vector<Band> bands;
};

/// A distance is of the size of rounding up to this many times the largest of the one-ULP runs so far.
inline constexpr double rounding_factor = 10;
/// Probability that all metrics of one more run of another seed lie in their bands.
inline constexpr double seed_confidence = 0.95;

/// Sets verdict, reason, limits and bands from the curves and from `metrics` of A and B.
///
/// - rounding: at every step known of B and of a one-ULP run, the distance of all parameters is at most
///   `rounding_factor` times the largest that a one-ULP run had up to there.
/// - diverged, which goes before all others: at some step the distance reaches the smallest of the other seeds, or a
///   metric lies outside of its band. The band of a metric is the prediction interval of one more run by Student's t
///   over A and the other seeds, at least two; of several metrics each has its share of the probability (Bonferroni). A
///   metric that is the same in all of them has no band.
/// - within seed noise: neither, and both distance and a metric could be held against other seeds.
/// - suspicious: above rounding, and there are no seeds to hold it against.
/// - none when the nulls that a verdict needs are missing.
void judge(Growth& growth, const std::vector<Metric>& metrics);

}  // namespace assay
