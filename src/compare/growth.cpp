// Distances between checkpoints, their doubling time, and the verdict beside null runs.
#include "compare/growth.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "base/ulp.hpp"
#include "compare/values.hpp"

namespace assay {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Calls visit(view) with the elements of a parameter as what they are.
template <class Visit>
void visit_reals(const Array& array, Visit visit) {
  if (array.type == ElementType::float64) return visit(array.view<double>());
  visit(array.view<float>());
}

void require_same_parameters(const Checkpoint& a, const Checkpoint& b) {
  const auto text = [](const Checkpoint& checkpoint, std::size_t i) {
    if (i >= checkpoint.parameters.size()) return std::string("(none)");
    return checkpoint.parameters[i].name + " " + shape_text(checkpoint.parameters[i].value.shape);
  };
  for (std::size_t i = 0; i < std::max(a.parameters.size(), b.parameters.size()); ++i)
    if (text(a, i) != text(b, i))
      throw Error("CMP-4", "distance of the checkpoints of step " + std::to_string(a.step),
                  "the parameter " + text(a, i), text(b, i));
}

double relative(double squares_of_difference, double squares) {
  if (squares_of_difference == 0) return 0;
  return squares == 0 ? infinity : std::sqrt(squares_of_difference) / std::sqrt(squares);
}

bool same_value(const StoredParameter& a, const StoredParameter& b) { return a.value == b.value; }

void append(Distances& distances, double relative, std::span<std::uint64_t> ulps) {
  distances.relative.push_back(relative);
  distances.max_ulp.push_back(ulps.empty() ? 0 : *std::max_element(ulps.begin(), ulps.end()));
  distances.median_ulp.push_back(median(ulps));
}

/// The largest, or the smallest, distance of several null runs at each step that one of them has.
std::map<std::uint64_t, double> extreme(const Growth& growth, bool other_seed) {
  std::map<std::uint64_t, double> found;
  for (const NullRun& run : growth.nulls) {
    if (run.other_seed != other_seed) continue;
    for (std::size_t i = 0; i < run.curve.steps.size(); ++i) {
      const double distance = run.curve.all.relative[i];
      const auto [entry, is_new] = found.try_emplace(run.curve.steps[i], distance);
      if (!is_new) entry->second = other_seed ? std::min(entry->second, distance) : std::max(entry->second, distance);
    }
  }
  return found;
}

/// The distance of B beside limits by step. A limit of 0 says nothing and is passed over.
std::optional<Growth::Limit> nearest_to_limit(const GrowthCurve& curve, const std::map<std::uint64_t, double>& limits) {
  std::optional<Growth::Limit> nearest;
  std::size_t steps = 0;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    const auto limit = limits.find(curve.steps[i]);
    if (limit == limits.end() || !(limit->second > 0)) continue;
    ++steps;
    const double distance = curve.all.relative[i];
    if (!nearest || distance / limit->second > nearest->distance / nearest->limit)
      nearest = Growth::Limit{0, curve.steps[i], distance, limit->second};
  }
  if (nearest) nearest->steps = steps;
  return nearest;
}

std::optional<Growth::Limit> rounding_limit(const Growth& growth) {
  std::map<std::uint64_t, double> limits = extreme(growth, false);
  double largest = 0;
  for (auto& [step, limit] : limits) {
    largest = std::max(largest, limit);
    limit = (sabotaged("rounding_has_no_limit") ? infinity : rounding_factor) * largest;
  }
  return nearest_to_limit(growth.curve, limits);
}

/// The metric in B, and from A and all other seeds that have it mean ± deviation of one more run.
std::optional<Growth::Band> spread(const Growth& growth, const Metric& metric) {
  std::vector<double> values{metric.a};
  for (const NullRun& run : growth.nulls)
    for (const Metric& other : run.metrics)
      if (run.other_seed && other.name == metric.name) values.push_back(other.b);
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (values.size() < 3 || !(squares > 0) || !std::isfinite(squares)) return std::nullopt;
  const double deviation = std::sqrt(squares / (n - 1) * (1 + 1 / n));
  return Growth::Band{metric.name, metric.b, mean - deviation, mean + deviation, values.size()};
}

std::vector<Growth::Band> seed_bands(const Growth& growth, const std::vector<Metric>& metrics) {
  std::vector<Growth::Band> bands;
  for (const Metric& metric : metrics)
    if (auto band = spread(growth, metric)) bands.push_back(*band);
  for (Growth::Band& band : bands) {
    const double outside = (1 - seed_confidence) / static_cast<double>(bands.size());
    const boost::math::students_t t(static_cast<double>(band.runs) - 1);
    const double middle = (band.low + band.high) / 2;
    const double half = (band.high - band.low) / 2 * boost::math::quantile(t, 1 - outside / 2);
    band.low = middle - half;
    band.high = middle + half;
  }
  return bands;
}

}  // namespace

std::optional<DoublingTime> doubling_time(std::span<const std::uint64_t> steps, std::span<const double> distances) {
  double largest = 0;
  for (const double distance : distances)
    if (std::isfinite(distance)) largest = std::max(largest, distance);
  std::vector<double> x, y;
  for (std::size_t i = 0; i < steps.size() && distances[i] < largest / 2; ++i) {
    if (distances[i] == 0) continue;
    x.push_back(static_cast<double>(steps[i]));
    y.push_back(std::log2(distances[i]));
  }
  if (x.size() < 3) return std::nullopt;
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean_x += x[i] / n, mean_y += y[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  const double slope = xy / xx;
  if (!(slope * (x.back() - x.front()) >= 1)) return std::nullopt;
  return DoublingTime{1 / slope, static_cast<std::uint64_t>(x.front()), static_cast<std::uint64_t>(x.back()),
                      xy * xy / (xx * yy)};
}

void GrowthCurve::add(const Checkpoint& a, const Checkpoint& b) {
  require_same_parameters(a, b);
  if (steps.empty())
    for (const StoredParameter& parameter : a.parameters) parameters.push_back({parameter.name, {}, {}, {}});
  steps.push_back(a.step);
  if (std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), same_value)) {
    for (Distances& distances : parameters) append(distances, 0, {});
    return append(all, 0, {});
  }
  std::vector<std::uint64_t> ulps;
  std::size_t elements = 0;
  for (const StoredParameter& parameter : a.parameters) elements += shape_count(parameter.value.shape);
  ulps.reserve(elements);
  double all_differences = 0, all_squares = 0;
  for (std::size_t p = 0; p < a.parameters.size(); ++p) {
    const Array &array_a = a.parameters[p].value, &array_b = b.parameters[p].value;
    const std::size_t begin = ulps.size();
    double differences = 0, squares = 0;
    visit_reals(array_a, [&]<class T>(std::span<const T> in_a) {
      visit_reals(array_b, [&]<class U>(std::span<const U> in_b) {
        using Narrower = std::conditional_t<std::is_same_v<T, U>, T, float>;
        for (std::size_t i = 0; i < in_a.size(); ++i) {
          const double x = in_a[i], y = in_b[i];
          differences += (x - y) * (x - y);
          squares += x * x;
          ulps.push_back(ulp_distance(static_cast<Narrower>(x), static_cast<Narrower>(y)));
        }
      });
    });
    append(parameters[p], relative(differences, squares), std::span(ulps).subspan(begin));
    all_differences += differences;
    all_squares += squares;
  }
  append(all, relative(all_differences, all_squares), ulps);
}

std::vector<Metric> final_metrics(const RunHead& a, const RunHead& b) {
  if (!a.result || !b.result) return {};
  return {{"test_accuracy", a.result->test_accuracy, b.result->test_accuracy},
          {"test_loss", a.result->test_loss, b.result->test_loss}};
}

LossDistance loss_distance(std::span<const double> a, std::span<const double> b) {
  LossDistance found;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    const double distance = a[i] == b[i] || both_nan ? 0 : std::fabs(a[i] - b[i]);
    found.last = std::isnan(distance) ? infinity : distance;
    if (found.last <= found.largest) continue;
    found.largest = found.last;
    found.step = i + 1;
  }
  return found;
}

void judge(Growth& growth, const std::vector<Metric>& metrics) {
  growth.rounding = rounding_limit(growth);
  growth.seeds = nearest_to_limit(growth.curve, extreme(growth, true));
  growth.bands = seed_bands(growth, metrics);
  const auto decide = [&](std::string verdict, std::string reason) {
    growth.verdict = std::move(verdict);
    growth.reason = std::move(reason);
  };
  if (growth.nulls.empty()) return decide("", "no null band: give --null");
  if (growth.seeds && growth.seeds->distance >= growth.seeds->limit)
    return decide("diverged", "as far from A as a run of another seed at step " + std::to_string(growth.seeds->step));
  for (const Growth::Band& band : growth.bands)
    if (band.outside()) return decide("diverged", band.metric + " lies outside of the band of other seeds");
  const std::string factor = std::to_string(static_cast<int>(rounding_factor)) + " x the largest one-ULP distance";
  if (growth.rounding && growth.rounding->distance <= growth.rounding->limit)
    return decide("rounding", "at every step at most " + factor + " so far");
  if (growth.seeds && !growth.bands.empty())
    return decide("within seed noise", "nearer to A than every other seed, and metrics in their band");
  if (growth.rounding)
    return decide("suspicious", "above " + factor + " at step " + std::to_string(growth.rounding->step) +
                                    ", and no two other seeds to hold it against");
  decide("", "no null band: give --null with a one-ULP run, or two other seeds, that have the checkpoints of A and B");
}

}  // namespace assay
