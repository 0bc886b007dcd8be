// What a replay says of two runs that part: element, cause, the wrong side.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/tensor_file.hpp"
#include "compare/verdict.hpp"
#include "harness/run.hpp"
#include "support/folder.hpp"

using namespace assay;
using assay::test::Folder;

namespace {

/// Runs of one small experiment.
struct Runs {
  Folder folder;

  Runs() {
    std::ofstream(folder / "small.toml") << "data.kind = 'synthetic'\n"
                                            "data.synthetic = { samples = 48, features = 16, classes = 3 }\n"
                                            "model = { layers = [16, 8, 3], activation = 'tanh' }\n"
                                            "train = { batch = 12, steps = 6 }\n"
                                            "trace.level = 'op'\n"
                                            "checkpoint = { every = 2, keep = 10 }\n";
  }

  std::string run(const std::string& name, const std::vector<std::string>& overrides = {}) const {
    run_experiment({.source = folder / "small.toml", .overrides = overrides, .out = folder / name});
    return folder / name;
  }

  /// The run again, in which `change` has changed the rows.
  std::string copy(const std::string& of, const std::string& name, const std::function<void(StepRow&)>& change,
                   const std::string& without = "") const {
    RunData run = read_run(of);
    run.description.provenance.erase(without);
    RunWriter writer = RunWriter::create(folder / name, run.description);
    const RunTable& table = run.table;
    const RunNames& names = run.description.names;
    for (std::size_t i = 0; i < table.steps(); ++i) {
      const auto part = [&](const std::vector<std::uint64_t>& all, std::size_t width) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * width);
        return std::vector<std::uint64_t>(begin, begin + static_cast<std::ptrdiff_t>(width));
      };
      StepRow row{.step = table.step[i],
                  .epoch = table.epoch[i],
                  .loss = table.loss[i],
                  .gradient_norm = table.gradient_norm[i],
                  .learning_rate = table.learning_rate[i],
                  .loss_digest = table.loss_digest[i],
                  .ids_digest = table.ids_digest[i],
                  .parameters = part(table.parameters, names.parameters.size()),
                  .gradients = part(table.gradients, names.parameters.size()),
                  .optimiser = part(table.optimiser, names.optimiser.size()),
                  .masks = part(table.masks, names.masks.size()),
                  .trace_names = names.trace,
                  .trace = part(table.trace, names.trace.size())};
      change(row);
      writer.append(row);
    }
    writer.interrupt();
    std::filesystem::copy(of + "/checkpoints", folder / (name + "/checkpoints"),
                          std::filesystem::copy_options::recursive);
    return folder / name;
  }
};

std::size_t column(const StepRow& row, const std::string& name) {
  return static_cast<std::size_t>(std::find(row.trace_names.begin(), row.trace_names.end(), name) -
                                  row.trace_names.begin());
}

const Explanation& explained(const Comparison& comparison) {
  BOOST_REQUIRE(comparison.explanation.has_value());
  BOOST_REQUIRE_EQUAL(comparison.explanation->unavailable, "");
  return *comparison.explanation;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(compare_explanation, Runs)

BOOST_AUTO_TEST_CASE(CMP_2_a_flipped_bit_of_one_gradient_is_named_with_phase_module_operation_and_side) {
  const std::string a = run("a");
  const std::string b = copy(a, "b", [](StepRow& row) {
    if (row.step == 4) row.trace[column(row, "backward/fc2/linear:1")] ^= 1;
  });
  for (const bool swapped : {false, true}) {
    const Comparison comparison =
        compare_runs(swapped ? b : a, swapped ? a : b, Policy{}, {.explain = Explain::replay});
    BOOST_REQUIRE(comparison.first_divergence.has_value());
    BOOST_TEST(comparison.first_divergence->step == 4u);
    BOOST_TEST(comparison.first_divergence->phase == "backward");
    BOOST_TEST(comparison.first_divergence->module == "fc2");
    BOOST_TEST(comparison.first_divergence->operation == "linear");
    const Explanation& why = explained(comparison);
    BOOST_TEST(why.result == "backward/fc2/linear:1");
    BOOST_TEST(why.began_at == 2u);
    BOOST_TEST(why.wrong == (swapped ? "A" : "B"));
    BOOST_TEST((swapped ? why.b : why.a).exact);
    BOOST_TEST((swapped ? why.a : why.b).cause == "");
    BOOST_TEST(!why.element.has_value());  // no tensor of that side is known
    const std::string text = verdict_text(comparison);
    BOOST_TEST(text.find("trace.tensors=[\"backward/fc2/linear:1\"]") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(CMP_5_a_run_that_does_not_say_its_numerics_promises_no_bits) {
  const std::string a = run("a");
  const auto flip = [](StepRow& row) {
    if (row.step == 4) row.trace[column(row, "backward/fc2/linear:1")] ^= 1;
  };
  const std::string b = copy(a, "b", flip, "numerics");
  const Comparison comparison = compare_runs(a, b, Policy{}, {.explain = Explain::replay});
  const Explanation& why = explained(comparison);
  BOOST_TEST(why.b.recorded);
  BOOST_TEST(!why.b.exact);
  BOOST_TEST(why.wrong == "unknown");
  BOOST_TEST(why.reason == "one side promises no bits; --referee asks float64");
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  BOOST_TEST(json["explanation"]["b"]["recorded"] == true);
}

BOOST_AUTO_TEST_CASE(CMP_2_exact_and_fast_part_at_an_operation_whose_cause_and_element_are_told) {
  const std::string a = run("a"), b = run("b", {"run.numerics=fast"});
  const Comparison comparison = compare_runs(a, b, Policy{}, {.explain = Explain::referee});
  const Explanation& why = explained(comparison);
  BOOST_TEST(why.result == comparison.first_divergence->tensor);
  BOOST_TEST(why.a.exact);
  BOOST_TEST(!why.b.exact);
  BOOST_TEST(why.b.cause.find("numerics fast") == 0u);
  BOOST_REQUIRE(why.element.has_value());
  BOOST_TEST(why.element->a != why.element->b);
  BOOST_TEST(why.different > 0u);
  BOOST_TEST(why.histogram[0] == why.elements - why.different);
  BOOST_REQUIRE(why.referee.has_value());
  BOOST_TEST(why.referee->verdict == "both within bound");
  BOOST_TEST(why.referee->a.of_bound > 0);
  BOOST_TEST(why.wrong == "neither");
}

BOOST_AUTO_TEST_CASE(CMP_2_without_a_trace_the_operation_is_named_by_computing_both_sides) {
  const std::string a = run("a", {"trace.level=step"}), b = run("b", {"trace.level=step", "run.numerics=fast"});
  const Comparison comparison = compare_runs(a, b, Policy{}, {.explain = Explain::replay});
  BOOST_TEST(comparison.first_divergence->table != "trace");
  const Explanation& why = explained(comparison);
  const Comparison traced = compare_runs(run("c"), run("d", {"run.numerics=fast"}), Policy{});
  BOOST_TEST(why.result == traced.first_divergence->tensor);
  BOOST_TEST(why.element.has_value());
  BOOST_TEST(why.b.cause.find("numerics fast") == 0u);
}

BOOST_AUTO_TEST_CASE(CMP_2_a_difference_that_no_trace_and_no_replay_places_is_told_as_such) {
  const std::string a = run("a", {"trace.level=step"});
  const std::string b = copy(a, "b", [](StepRow& row) {
    if (row.step == 2) row.loss_digest ^= 1;
  });
  const Comparison comparison = compare_runs(a, b, Policy{}, {.explain = Explain::replay});
  BOOST_TEST(comparison.explanation->unavailable.find("the difference is in loss") == 0u);
}

BOOST_AUTO_TEST_CASE(CMP_5_the_referee_names_the_side_that_rounding_does_not_explain) {
  const std::string name = "forward/fc2/linear";
  const std::string a = run("a", {"trace.tensors=['" + name + "']"});
  const std::string b = copy(a, "b", [&](StepRow& row) {
    if (row.step == 3) row.trace[column(row, name)] ^= 1;
  });
  std::vector<NamedArray> tensors = load_tensors(tensor_path(a, 3));
  std::vector<float> values = tensors[0].array.values<float>();
  values[7] += 1e-3f;
  tensors[0].array = Array::of(std::span<const float>(values), tensors[0].array.shape);
  save_tensors(tensor_path(b, 3), 3, tensors);
  for (const bool swapped : {false, true}) {
    const Comparison comparison =
        compare_runs(swapped ? b : a, swapped ? a : b, Policy{}, {.explain = Explain::referee});
    const Explanation& why = explained(comparison);
    BOOST_TEST(why.different == 1u);
    BOOST_REQUIRE(why.element.has_value());
    BOOST_TEST(why.element->index == 7u);
    BOOST_TEST((swapped ? why.a : why.b).values == "its tensors file");
    BOOST_REQUIRE(why.referee.has_value());
    BOOST_TEST(why.referee->verdict == (swapped ? "A" : "B"));
    BOOST_TEST((swapped ? why.referee->b : why.referee->a).within());
    const std::string json = comparison_json(comparison);
    BOOST_TEST(json.find(swapped ? "\"verdict\": \"A\"" : "\"verdict\": \"B\"") != std::string::npos, json);
  }
}

BOOST_AUTO_TEST_CASE(CMP_2_without_the_state_that_was_recorded_there_is_no_replay_and_the_reason_is_told) {
  const std::string a = run("a");
  const auto flip = [](std::uint64_t step) {
    return [step](StepRow& row) {
      if (row.step == 1) row.parameters[0] ^= 1;
      if (row.step >= step) row.trace[0] ^= 1;
    };
  };
  // Both sides were at another place after step 1, which nothing here computes.
  const std::string b = copy(a, "b", flip(7)), c = copy(a, "c", flip(2));
  const Comparison comparison = compare_runs(b, c, Policy{}, {.explain = Explain::replay});
  BOOST_REQUIRE(comparison.explanation.has_value());
  BOOST_TEST(comparison.explanation->unavailable.find("CMP-2: replay of step 1 of " + b) == 0u,
             comparison.explanation->unavailable);
  BOOST_TEST(verdict_text(comparison).find("none: CMP-2: replay of step 1") != std::string::npos,
             verdict_text(comparison));
}

BOOST_AUTO_TEST_CASE(CMP_1_two_runs_of_one_experiment_need_no_explanation) {
  const std::string a = run("a"), b = run("b", {"run.device=simulated"});
  const Comparison comparison = compare_runs(a, b, Policy{}, {.explain = Explain::referee});
  BOOST_TEST(comparison.holds, verdict_text(comparison));
  BOOST_TEST(!comparison.explanation.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
