// Two runs beside a float64 run: how far each is from it, and who is further.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compare_support.hpp"

using namespace assay;
using namespace assay::compare_test;

namespace {

/// A run whose parameters are off by these shares at step 2, and three times as far at step 3.
Script off_by(float weight, float bias) {
  Script script;
  script.on_checkpoint = [=](Checkpoint& state) {
    const float times = state.step == 2 ? 1 : 3;
    replace<float>(state, 0, {1, 2, 3, 4 * (1 + times * weight)});
    replace<float>(state, 1, {0, 0.5f * (1 + times * bias)});
  };
  return script;
}

/// The float64 run.
Script referee() {
  Script script;
  script.resolved["run.device"] = script.provenance["device"] = "reference";
  script.on_row = [](StepRow& row) { row.loss += 0.25; };
  script.on_checkpoint = [](Checkpoint& state) {
    replace<double>(state, 0, {1, 2, 3, 4});
    replace<double>(state, 1, {0, 0.5});
  };
  return script;
}

struct Three {
  Folder folder;
  std::string a = write_run(folder / "a", off_by(0x1p-20f, 0x1p-10f));
  std::string b = write_run(folder / "b", off_by(0x1p-12f, 0x1p-18f));
  std::string r = write_run(folder / "r", referee());
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(compare_referee_run, Three)

BOOST_AUTO_TEST_CASE(CMP_5_a_float64_run_tells_which_side_is_further_off_of_all_and_of_each_parameter) {
  for (const bool swapped : {false, true}) {
    const Comparison comparison = compare_runs(swapped ? b : a, swapped ? a : b, Policy{}, {.referee_run = r});
    BOOST_REQUIRE(comparison.referee_run.has_value());
    const RefereeRun& run = *comparison.referee_run;
    const GrowthCurve& of_b = swapped ? run.a : run.b;
    BOOST_TEST(of_b.steps == (std::vector<std::uint64_t>{2, 3}), boost::test_tools::per_element());
    BOOST_TEST(of_b.parameters[0].relative[0] == 4 * 0x1p-12 / std::sqrt(30.0));
    BOOST_TEST(of_b.parameters[0].relative[1] == 12 * 0x1p-12 / std::sqrt(30.0));
    BOOST_TEST(of_b.parameters[1].relative[1] == 3 * 0x1p-18);
    BOOST_TEST(run.further() == (swapped ? "A" : "B"));
    BOOST_TEST(run.further_in(swapped ? "A" : "B") == std::vector<std::string>{"fc1.weight"},
               boost::test_tools::per_element());
    BOOST_TEST(run.further_in(swapped ? "B" : "A") == std::vector<std::string>{"fc1.bias"},
               boost::test_tools::per_element());
    BOOST_TEST(run.loss_a.largest == 0.25);
    const auto json = nlohmann::json::parse(comparison_json(comparison))["referee_run"];
    BOOST_TEST(json["further"] == (swapped ? "A" : "B"));
    BOOST_TEST(json["further_in"][swapped ? "b" : "a"] == std::vector<std::string>{"fc1.bias"});
    BOOST_TEST(json[swapped ? "a" : "b"]["parameters"][0]["name"] == "fc1.weight");
    const std::string text = verdict_text(comparison);
    for (const std::string piece : {"referee run", swapped ? "A in fc1.weight" : "B in fc1.weight"})
      BOOST_TEST(text.find(piece) != std::string::npos, text);
  }
  BOOST_TEST(compare_runs(a, a, Policy{}, {.referee_run = r}).referee_run->further() == "neither");
}

BOOST_AUTO_TEST_CASE(CMP_4_a_referee_run_of_another_device_or_experiment_is_refused_with_what_differs) {
  files_test::refusal("CMP-4", {"referee run " + b, "on the device reference", "device is cpu"},
                      [&] { compare_runs(a, b, Policy{}, {.referee_run = b}); });
  Script script = referee();
  script.resolved["experiment.seed"] = 8;
  const std::string other = write_run(folder / "other", script);
  files_test::refusal("CMP-4", {"referee run " + other, "experiment.seed is 7 there, 8 here"},
                      [&] { compare_runs(a, b, Policy{}, {.referee_run = other}); });
}

BOOST_AUTO_TEST_SUITE_END()
