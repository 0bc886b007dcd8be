// Growth between two runs: distances, doubling times, null runs, and each verdict.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compare/null_runs.hpp"
#include "compare_support.hpp"

using namespace assay;
using namespace assay::compare_test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Checkpoint with_parameters(std::uint64_t step, const std::vector<float>& weight, const std::vector<float>& bias) {
  Checkpoint state = state_after(step);
  replace<float>(state, 0, weight);
  replace<float>(state, 1, bias);
  return state;
}

/// A curve of all parameters at the steps 10, 20 …
GrowthCurve curve_of(const std::vector<double>& distances) {
  GrowthCurve curve;
  for (std::size_t i = 0; i < distances.size(); ++i) curve.steps.push_back(10 * (i + 1));
  curve.all.relative = distances;
  return curve;
}

NullRun one_ulp(const std::vector<double>& distances) { return {"one_ulp", false, curve_of(distances), {}, {}}; }

NullRun seed(const std::vector<double>& distances, double loss) {
  return {"seed", true, curve_of(distances), {}, {{"test_loss", 0.5, loss}}};
}

Growth judged(const std::vector<double>& distances, std::vector<NullRun> nulls, double loss_of_b = 0.5) {
  Growth growth;
  growth.curve = curve_of(distances);
  growth.nulls = std::move(nulls);
  judge(growth, {{"test_loss", 0.5, loss_of_b}});
  return growth;
}

void check_verdict(const Growth& growth, const std::string& verdict, const std::string& reason) {
  BOOST_TEST(growth.verdict == verdict);
  BOOST_TEST(growth.reason.find(reason) != std::string::npos, growth.reason);
}

/// A run with other parameters in its checkpoints, weights scaled by 1 + `by`.
Script moved_by(double by, const std::string& perturbed = "", std::int64_t seed = 7) {
  Script script;
  script.resolved["model.perturbed"] = perturbed;
  script.resolved["experiment.seed"] = seed;
  script.on_checkpoint = [=](Checkpoint& state) {
    std::vector<float> weight = state.parameters[0].value.values<float>();
    for (float& value : weight) value = static_cast<float>(value * (1 + by * static_cast<double>(state.step)));
    replace<float>(state, 0, weight);
  };
  return script;
}

struct NullRuns {
  Folder folder;
  std::string a = write_run(folder / "a"), b = write_run(folder / "b", moved_by(1e-6));

  Comparison with(const std::vector<std::string>& nulls) const {
    return compare_runs(a, b, Policy{}, {.nulls = nulls});
  }
  void check_no_null(const Script& script, const std::vector<std::string>& pieces) const {
    static int number = 0;
    const std::string null = write_run(folder / ("null" + std::to_string(++number)), script);
    std::vector<std::string> all = {"null run " + null,
                                    "differs from " + a + " in model.perturbed alone or in experiment.seed alone"};
    all.insert(all.end(), pieces.begin(), pieces.end());
    files_test::refusal("CMP-4", all, [&] { with({null}); });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(compare_growth)

BOOST_AUTO_TEST_CASE(CMP_5_the_distance_is_relative_to_A_for_each_parameter_and_for_all) {
  GrowthCurve curve;
  curve.add(with_parameters(2, {1, 2, 3, 4}, {0, 0}), with_parameters(2, {1, 2, 3, 4}, {0, 0}));
  curve.add(with_parameters(3, {3, 0, 4, 0}, {0, 12}),
            with_parameters(3, {3.0f + 0x1p-22f, 0, 4.0f + 0x1p-20f, 0}, {0, 12.0f + 0x1p-20f}));
  BOOST_TEST(curve.steps == (std::vector<std::uint64_t>{2, 3}), boost::test_tools::per_element());
  BOOST_REQUIRE(curve.parameters.size() == 2u);
  BOOST_TEST(curve.parameters[0].name == "fc1.weight");
  BOOST_TEST(curve.parameters[0].relative[0] == 0.0);
  BOOST_TEST(curve.parameters[0].relative[1] == std::sqrt(0x1p-44 + 0x1p-40) / 5);
  BOOST_TEST(curve.parameters[1].relative[1] == 0x1p-20 / 12);
  BOOST_TEST(curve.all.relative[1] == std::sqrt(0x1p-44 + 0x1p-40 + 0x1p-40) / 13);
  BOOST_TEST(curve.parameters[0].max_ulp == (std::vector<std::uint64_t>{0, 2}), boost::test_tools::per_element());
  BOOST_TEST(curve.parameters[0].median_ulp[1] == 0u);  // of 0, 0, 1, 2
  BOOST_TEST(curve.all.max_ulp[1] == 2u);
  BOOST_TEST(curve.all.median_ulp[1] == 0u);  // of 0, 0, 0, 1, 1, 2
}

BOOST_AUTO_TEST_CASE(CMP_5_a_distance_from_nothing_is_infinite_and_other_tensors_are_refused) {
  GrowthCurve curve;
  curve.add(with_parameters(1, {1, 2, 3, 4}, {0, 0}), with_parameters(1, {1, 2, 3, 4}, {0, 1}));
  BOOST_TEST(curve.parameters[1].relative[0] == infinity);
  BOOST_TEST(std::isfinite(curve.all.relative[0]));
  Checkpoint other = state_after(2);
  other.parameters[1] = stored("fc1.bias", Array::of<float>(std::vector<float>{1, 2, 3}));
  files_test::refusal("CMP-4", {"step 2", "fc1.bias [2]", "fc1.bias [3]"}, [&] { curve.add(state_after(2), other); });
}

BOOST_AUTO_TEST_CASE(CMP_5_the_doubling_time_is_that_of_the_steps_before_saturation) {
  std::vector<std::uint64_t> steps;
  std::vector<double> distances;
  for (std::uint64_t step = 10; step <= 300; step += 10) {
    steps.push_back(step);
    distances.push_back(step == 10 ? 0 : std::min(1e-7 * std::exp2(static_cast<double>(step) / 20), 1e-5 + 1e-9));
  }
  const auto found = doubling_time(steps, distances);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->steps == 20, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(found->r_squared == 1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(found->from == 20u);
  BOOST_TEST(found->to == 110u);  // 2^(110/20) · 1e-7 is the last below half of the largest
}

BOOST_AUTO_TEST_CASE(CMP_5_what_does_not_grow_has_no_doubling_time) {
  const std::vector<std::uint64_t> steps = {10, 20, 30, 40, 50};
  for (const std::vector<double>& distances :
       {std::vector<double>{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {5, 4, 3, 2, 1}, {1, 1.1, 1.2, 1.3, 4}, {0, 0, 1, 2, 4}})
    BOOST_TEST(!doubling_time(steps, distances).has_value(), distances[1] << " …");
}

BOOST_AUTO_TEST_CASE(CMP_5_rounding_is_within_ten_times_the_largest_one_ulp_distance_so_far) {
  const std::vector<NullRun> nulls = {one_ulp({1e-7, 1e-5, 1e-6}), one_ulp({2e-7, 1e-6, 1e-6})};
  const Growth within = judged({2e-6, 1e-4, 1e-4}, nulls);
  check_verdict(within, "rounding", "at every step at most 10 x");
  BOOST_REQUIRE(within.rounding.has_value());
  BOOST_TEST(within.rounding->steps == 3u);
  BOOST_TEST(within.rounding->limit == 10 * 2e-7);
  check_verdict(judged({2.1e-6, 1e-4, 1e-4}, nulls), "suspicious", "at step 10");
  check_verdict(judged({2e-6, 1e-4, 1.1e-4}, nulls), "suspicious", "at step 30");
}

BOOST_AUTO_TEST_CASE(CMP_5_above_rounding_the_other_seeds_decide) {
  const std::vector<NullRun> nulls = {one_ulp({1e-7, 1e-6}), seed({1, 1.2}, 0.51), seed({0.9, 1.3}, 0.48),
                                      seed({1, 1.1}, 0.52)};
  const Growth noise = judged({1e-3, 1e-2}, nulls, 0.53);
  check_verdict(noise, "within seed noise", "nearer to A than every other seed");
  BOOST_REQUIRE(noise.bands.size() == 1u);
  BOOST_TEST(noise.bands[0].runs == 4u);
  // Student's t of 3 degrees of freedom at 97.5 % is 3.18245; the values 0.5, 0.51, 0.48, 0.52.
  const double half = 3.18244630528 * std::sqrt(0.000875 / 3 * 1.25);
  BOOST_TEST(noise.bands[0].low == 0.5025 - half, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(noise.bands[0].high == 0.5025 + half, boost::test_tools::tolerance(1e-9));
  check_verdict(judged({1e-3, 1e-2}, nulls, 0.6), "diverged", "test_loss lies outside");
  check_verdict(judged({1e-3, 1e-2}, nulls, std::nan("")), "diverged", "test_loss lies outside");
  check_verdict(judged({0.9, 1e-2}, nulls, 0.5), "diverged", "at step 10");
  check_verdict(judged({1e-7, 1e-6}, nulls, 0.6), "diverged", "test_loss lies outside");
  check_verdict(judged({1e-7, 1e-6}, nulls, 0.5), "rounding", "at every step");
}

BOOST_AUTO_TEST_CASE(CMP_5_two_metrics_share_the_probability_of_a_false_alarm) {
  Growth growth;
  growth.nulls = {seed({}, 0.51), seed({}, 0.48), seed({}, 0.52)};
  for (NullRun& run : growth.nulls) run.metrics.push_back({"test_accuracy", 0.8, 0.8 + run.metrics[0].b / 10});
  judge(growth, {{"test_loss", 0.5, 0.5}, {"test_accuracy", 0.8, 0.8}});
  BOOST_REQUIRE(growth.bands.size() == 2u);
  const double half = 4.17653460275 * std::sqrt(0.000875 / 3 * 1.25);  // t of 3 degrees of freedom at 98.75 %
  BOOST_TEST(growth.bands[0].high - growth.bands[0].low == 2 * half, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(CMP_5_no_verdict_is_given_without_the_nulls_that_it_needs) {
  check_verdict(judged({1e-3}, {}), "", "no null band: give --null");
  check_verdict(judged({1e-3}, {one_ulp({0})}), "", "no null band");
  check_verdict(judged({1e-3}, {one_ulp({})}), "", "no null band");
  check_verdict(judged({1e-3}, {seed({1}, 0.5)}), "", "no null band");
  check_verdict(judged({1e-3}, {seed({1}, 0.51), seed({1}, 0.52)}), "within seed noise", "");
  check_verdict(judged({1e-3}, {seed({1}, 0.5), seed({1}, 0.5)}), "", "no null band");  // no spread
  check_verdict(judged({1}, {seed({1}, 0.5)}), "diverged", "at step 10");
}

BOOST_FIXTURE_TEST_CASE(CMP_4_null_runs_are_one_ulp_or_another_seed_of_A, NullRuns) {
  const std::string ulp = write_run(folder / "ulp", moved_by(5e-7, "all"));
  const std::string other = write_run(folder / "seed", moved_by(1, "", 8));
  const Comparison comparison = with({ulp, other});
  BOOST_REQUIRE(comparison.growth.nulls.size() == 2u);
  BOOST_TEST(!comparison.growth.nulls[0].other_seed);
  BOOST_TEST(comparison.growth.nulls[1].other_seed);
  BOOST_TEST(comparison.growth.nulls[0].curve.steps == comparison.checkpoints, boost::test_tools::per_element());
  BOOST_TEST(comparison.growth.verdict == "rounding");
  BOOST_TEST(!comparison.holds);
}

BOOST_FIXTURE_TEST_CASE(CMP_4_any_other_null_run_is_refused_with_what_differs, NullRuns) {
  Script wider = moved_by(1e-6, "all");
  wider.resolved["model.layers"] = {2, 3, 2};
  check_no_null(wider, {"model.layers is [2,2] there, [2,3,2] here", "model.perturbed is \"\" there, \"all\" here"});
  check_no_null(moved_by(1e-6, "all", 8), {"experiment.seed is 7 there, 8 here"});
  Script fast = moved_by(1e-6, "all");
  fast.provenance["numerics"] = "fast";
  check_no_null(fast, {"numerics is (not recorded) there, fast here"});
  check_no_null({}, {"found the same experiment"});
}

BOOST_FIXTURE_TEST_CASE(CMP_4_a_perturbed_run_is_another_experiment_and_one_from_before_the_key_is_not, NullRuns) {
  const Comparison comparison = compare_runs(a, write_run(folder / "ulp", moved_by(0, "all")), Policy{});
  BOOST_REQUIRE(comparison.refused.size() == 1u);
  BOOST_TEST(refusal_text(comparison).find("model.perturbed is \"\" in A, \"all\" in B") != std::string::npos);
  BOOST_TEST(compare_runs(a, write_run(folder / "same", moved_by(0)), Policy{}).holds);
}

BOOST_FIXTURE_TEST_CASE(CMP_5_growth_is_told_in_words_and_in_JSON, NullRuns) {
  const Comparison comparison = with({write_run(folder / "ulp", moved_by(1e-9, "fc1.weight"))});
  const std::string text = verdict_text(comparison);
  for (const char* piece :
       {"step time", "growth ", "distance of all parameters 2.01e-06 at step 2", "one ULP", "NO VERDICT  no null band"})
    BOOST_TEST(text.find(piece) != std::string::npos, piece << " is not in " << text);
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  BOOST_TEST(json["seconds_per_step"]["a"].is_number());
  const auto& growth = json["growth"];
  BOOST_TEST(growth["verdict"].is_null());
  BOOST_TEST(growth["steps"].dump() == "[2,3]");
  BOOST_TEST(growth["all"]["relative"].size() == 2u);
  BOOST_TEST(growth["parameters"][1]["name"] == "fc1.bias");
  BOOST_REQUIRE(growth["nulls"].size() == 1u);
  BOOST_TEST(growth["nulls"][0]["kind"] == "one ULP");
  BOOST_TEST(verdict_text(compare_runs(a, a, Policy{})).find("growth") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(CMP_5_the_difference_of_the_loss_is_taken_at_every_step) {
  const LossDistance found = loss_distance(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 2.5, 3.25, 4.25});
  BOOST_TEST(found.largest == 0.5);
  BOOST_TEST(found.step == 2u);
  BOOST_TEST(found.last == 0.25);
  const double nan = std::nan("");
  BOOST_TEST(loss_distance(std::vector<double>{nan, 1}, std::vector<double>{nan, 1}).largest == 0.0);
  BOOST_TEST(loss_distance(std::vector<double>{1, 1}, std::vector<double>{nan, 1}).largest == infinity);
}

BOOST_AUTO_TEST_SUITE_END()
