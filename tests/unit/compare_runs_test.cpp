// Comparing runs: equality, the first difference, pairs that are refused, runs of different length.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <tuple>

#include "compare_support.hpp"
#include "device/cpu/thread_pool.hpp"
#include "harness/run.hpp"
#include "support/contract.hpp"

using namespace assay;
using namespace assay::compare_test;

BOOST_AUTO_TEST_SUITE(compare_runs_suite)

/// A script that changes the row of one step.
Script at_step(std::uint64_t step, const std::function<void(StepRow&)>& change) {
  Script script;
  script.on_row = [=](StepRow& row) {
    if (row.step == step) change(row);
  };
  return script;
}

void check_first(const Comparison& comparison, std::uint64_t step, const std::string& table,
                 const std::string& tensor) {
  BOOST_TEST(!comparison.holds);
  BOOST_REQUIRE(comparison.first_divergence.has_value());
  BOOST_TEST(comparison.first_divergence->step == step);
  BOOST_TEST(comparison.first_divergence->table == table);
  BOOST_TEST(comparison.first_divergence->tensor == tensor);
}

BOOST_AUTO_TEST_CASE(CMP_1_a_run_equals_itself_and_its_copy_under_every_policy) {
  Folder folder;
  write_run(folder / "a");
  write_run(folder / "b");
  for (const char* policy : {"bitwise", "ulp:0", "close:0,0"})
    for (const char* other : {"a", "b"}) {
      const Comparison comparison = compare_runs(folder / "a", folder / other, parse_policy(policy));
      BOOST_TEST(comparison.holds, policy);
      BOOST_TEST(!comparison.first_divergence.has_value());
      BOOST_TEST(comparison.steps_compared == 3u);
      BOOST_TEST(comparison.validations_compared == 1u);
      BOOST_TEST(comparison.checkpoints == (std::vector<std::uint64_t>{2, 3}), boost::test_tools::per_element());
      BOOST_TEST(comparison.tensors.size() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(CMP_1_a_run_that_took_another_time_elsewhere_equals_it) {
  Folder folder;
  Script script;
  script.provenance = {{"device", "simulated"}, {"threads", "7"}, {"data_digest", "d1"}, {"started", "another day"}};
  script.resolved["run.device"] = "simulated";
  script.resolved["run.threads"] = 7;
  script.on_result = [](RunResult& result) { result.seconds = 99; };
  const Comparison comparison = compare_with(folder, script);
  BOOST_TEST(comparison.holds, verdict_text(comparison));
}

BOOST_AUTO_TEST_CASE(CMP_1_a_run_whose_loss_is_NaN_equals_itself) {
  Folder folder;
  write_run(folder / "a", at_step(2, [](StepRow& row) { row.loss = std::numeric_limits<double>::quiet_NaN(); }));
  for (const char* policy : {"bitwise", "ulp:0", "close:0,0"})
    BOOST_TEST(compare_runs(folder / "a", folder / "a", parse_policy(policy)).holds, policy);
}

BOOST_AUTO_TEST_CASE(CMP_2_one_flipped_bit_in_one_gradient_digest_is_found_at_its_step_and_tensor) {
  Folder folder;
  for (std::uint64_t step : {1, 2, 3})
    for (std::size_t column : {0, 1})
      for (int bit : {0, 63}) {
        const auto comparison = compare_with(
            folder, at_step(step, [=](StepRow& row) { row.gradients[column] ^= std::uint64_t{1} << bit; }));
        check_first(comparison, step, "gradients", column ? "fc1.bias" : "fc1.weight");
        BOOST_TEST(comparison.first_divergence->a != comparison.first_divergence->b);
        BOOST_TEST(comparison.first_divergence->also.empty());
      }
}

BOOST_AUTO_TEST_CASE(CMP_2_every_table_of_a_step_is_compared_and_the_earliest_made_is_named) {
  Folder folder;
  using Change = std::function<void(StepRow&)>;
  const std::vector<std::tuple<std::string, std::string, Change>> in_order = {
      {"epoch", "", [](StepRow& row) { ++row.epoch; }},
      {"ids", "", [](StepRow& row) { ++row.ids_digest; }},
      {"masks", "dropout1", [](StepRow& row) { ++row.masks[0]; }},
      {"loss", "", [](StepRow& row) { ++row.loss_digest; }},
      {"gradients", "fc1.weight", [](StepRow& row) { ++row.gradients[0], ++row.gradients[1]; }},
      {"gradient_norm", "", [](StepRow& row) { row.gradient_norm = 2; }},
      {"finite", "", [](StepRow& row) { row.finite = false; }},
      {"learning_rate", "", [](StepRow& row) { row.learning_rate = 0.2; }},
      {"optimiser", "first_moment.fc1.weight", [](StepRow& row) { ++row.optimiser[0]; }},
      {"parameters", "fc1.bias", [](StepRow& row) { ++row.parameters[1]; }},
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const auto& [table, tensor, change] = in_order[i];
    check_first(compare_with(folder, at_step(2, change)), 2, table, tensor);
    const auto all_from_here = [&, i](StepRow& row) {
      for (std::size_t k = i; k < in_order.size(); ++k) std::get<2>(in_order[k])(row);
    };
    check_first(compare_with(folder, at_step(2, all_from_here)), 2, table, tensor);
  }
  const auto both = compare_with(folder, at_step(2, std::get<2>(in_order[4])));
  BOOST_TEST(both.first_divergence->also == std::vector<std::string>{"fc1.bias"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(CMP_2_runs_whose_segments_end_at_other_steps_are_compared_step_by_step) {
  Folder folder;
  Script script;
  script.steps = 40;
  script.resolved["schedule.kind"] = "constant";
  script.segment = 7;
  const std::string a = write_run(folder / "whole", script);
  script.segment = 3;
  BOOST_TEST(compare_runs(a, write_run(folder / "same", script), Policy{}).holds);
  for (const std::uint64_t apart : {1, 2, 7, 8, 9, 21, 40}) {
    script.on_row = [=](StepRow& row) { row.optimiser[0] += row.step >= apart; };
    const std::string b = write_run(folder / ("from" + std::to_string(apart)), script);
    check_first(compare_runs(a, b, Policy{}), apart, "optimiser", "first_moment.fc1.weight");
    check_first(compare_runs(b, a, Policy{}), apart, "optimiser", "first_moment.fc1.weight");
  }
  script.on_row = [](StepRow&) {};
  script.steps = 50;
  const std::string longer = write_run(folder / "longer", script);
  for (const bool swapped : {false, true}) {
    const Comparison comparison = compare_runs(swapped ? longer : a, swapped ? a : longer, Policy{});
    BOOST_TEST(!comparison.first_divergence.has_value());
    BOOST_TEST(comparison.steps_compared == 40u);
  }
}

BOOST_AUTO_TEST_CASE(CMP_2_the_checkpoint_behind_a_difference_shows_the_element) {
  Folder folder;
  Script script = at_step(3, [](StepRow& row) { ++row.parameters[0]; });
  script.on_checkpoint = [](Checkpoint& state) {
    if (state.step == 3) replace<float>(state, 0, {1, 2, 3.0f + 0x1p-21f, 4});
  };
  const Comparison comparison = compare_with(folder, script);
  check_first(comparison, 3, "parameters", "fc1.weight");
  BOOST_REQUIRE(comparison.element.has_value());
  BOOST_TEST(comparison.element->checkpoint == 3u);
  BOOST_TEST(comparison.element->tensor == "fc1.weight");
  BOOST_TEST(comparison.element->index == "[1, 0]");
  BOOST_TEST(comparison.element->a == 3.0);
  BOOST_TEST(comparison.element->b == 3.0 + 0x1p-21);
  BOOST_TEST(comparison.element->ulp == 2u);
  const std::string text = verdict_text(comparison);
  for (const char* piece : {"DIFFERS  bitwise: at step 3 of 3", "parameters of fc1.weight", "fc1.weight [1, 0], 2 ULP"})
    BOOST_TEST(text.find(piece) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(CMP_2_a_difference_that_only_checkpoints_validations_or_results_show_is_found) {
  Folder folder;
  Script script;
  script.on_checkpoint = [](Checkpoint& state) { replace<float>(state, 1, {0, 0.75f}); };
  check_first(compare_with(folder, script), 2, "parameters", "fc1.bias");
  script.on_checkpoint = [](Checkpoint& state) { state.random_draws[0] += state.step == 3; };
  check_first(compare_with(folder, script), 3, "random", "dropout");
  script.on_checkpoint = [](Checkpoint& state) { state.optimiser_scalars["steps"] = std::uint64_t{9}; };
  check_first(compare_with(folder, script), 2, "optimiser", "steps");
  script.on_checkpoint = [](Checkpoint& state) { state.train["epoch"] = std::uint64_t{1}; };
  check_first(compare_with(folder, script), 2, "train", "epoch");

  script = {};
  script.on_validation = [](ValidationRow& row) { row.loss += 0x1p-50; };
  check_first(compare_with(folder, script), 2, "validation", "loss");
  script.on_validation = [](ValidationRow& row) { row.accuracy = 0.5; };
  check_first(compare_with(folder, script), 2, "validation", "accuracy");

  script = {};
  script.on_result = [](RunResult& result) { result.parameters_digest = "ab13"; };
  check_first(compare_with(folder, script), 3, "result", "parameters_digest");
  script.on_result = [](RunResult& result) { result.test_accuracy = 0.5; };
  check_first(compare_with(folder, script), 3, "result", "test_accuracy");
}

BOOST_AUTO_TEST_CASE(CMP_3_a_NaN_loss_equals_a_NaN_loss_and_minus_zero_is_not_zero) {
  Folder folder;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  write_run(folder / "nan", at_step(2, [=](StepRow& row) { row.loss = nan; }));
  write_run(folder / "other-nan", at_step(2, [=](StepRow& row) { row.loss = -nan; }));
  BOOST_TEST(compare_runs(folder / "nan", folder / "other-nan", Policy{}).holds);
  check_first(compare_with(folder, at_step(2, [=](StepRow& row) { row.loss = nan; }), "close:1e9,1e9"), 2, "loss", "");

  write_run(folder / "zero", at_step(2, [](StepRow& row) { row.gradient_norm = 0.0; }));
  write_run(folder / "minus", at_step(2, [](StepRow& row) { row.gradient_norm = -0.0; }));
  check_first(compare_runs(folder / "zero", folder / "minus", Policy{}), 2, "gradient_norm", "");
  BOOST_TEST(compare_runs(folder / "zero", folder / "minus", parse_policy("close:0,0")).holds);
  BOOST_TEST(!compare_runs(folder / "zero", folder / "minus", parse_policy("ulp:0")).holds);
  BOOST_TEST(compare_runs(folder / "zero", folder / "minus", parse_policy("ulp:1")).holds);
}

BOOST_AUTO_TEST_CASE(CMP_4_runs_of_other_experiments_are_refused_with_all_that_differs) {
  Folder folder;
  Script script;
  script.resolved["experiment.seed"] = 8;
  script.resolved["model.layers"] = {2, 3, 2};
  script.resolved["train.steps"] = 4;
  script.resolved["train.shards"] = 2;
  script.provenance["data_digest"] = "d2";
  script.names.parameters = {"fc1.weight", "fc2.bias"};
  const Comparison comparison = compare_with(folder, script);
  BOOST_TEST(!comparison.holds);
  BOOST_TEST(comparison.steps_compared == 0u);
  const std::string refusal = refusal_text(comparison), text = verdict_text(comparison);
  BOOST_TEST(refusal.rfind("CMP-4: ", 0) == 0u);
  for (const char* piece : {"experiment.seed is 7 in A, 8 in B", "model.layers is [2,2] in A, [2,3,2] in B",
                            "train.steps is 3 in A, 4 in B", "train.shards is 1 in A, 2 in B",
                            "digest of the data is d1 in A, d2 in B", "parameter 2 is fc1.bias in A, fc2.bias in B"})
    BOOST_TEST(refusal.find(piece) != std::string::npos, piece << " is not in " << refusal);
  for (const char* piece : {"REFUSED  CMP-4", "experiment.seed", "model.layers", "train.shards"})
    BOOST_TEST(text.find(piece) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(CMP_4_what_may_not_change_a_bit_is_no_reason_to_refuse) {
  Folder folder;
  Script script;
  for (const char* key :
       {"run.device", "run.threads", "trace.level", "checkpoint.every", "experiment.name", "data.path", "model.base"})
    script.resolved[key] = "another";
  script.provenance["threads"] = "7";
  BOOST_TEST(compare_with(folder, script).holds);
}

BOOST_AUTO_TEST_CASE(CMP_4_another_length_is_refused_unless_the_learning_rate_is_constant) {
  Folder folder;
  Script one, two;
  two.resolved["train.steps"] = 4;
  two.steps = 4;
  write_run(folder / "one", one);
  BOOST_TEST(compare_with(folder, two).refused.size() == 1u);
  one.resolved["schedule.kind"] = two.resolved["schedule.kind"] = "constant";
  write_run(folder / "short", one);
  write_run(folder / "long", two);
  const Comparison comparison = compare_runs(folder / "long", folder / "short", Policy{});
  BOOST_TEST(comparison.refused.empty());
  BOOST_TEST(comparison.steps_compared == 3u);
}

BOOST_AUTO_TEST_CASE(CMP_5_an_interrupted_run_is_compared_as_far_as_it_goes_and_does_not_hold) {
  Folder folder;
  Script script;
  script.steps = 2;
  script.complete = false;
  const Comparison comparison = compare_with(folder, script);
  BOOST_TEST(!comparison.holds);
  BOOST_TEST(!comparison.first_divergence.has_value());
  BOOST_TEST(comparison.steps_compared == 2u);
  BOOST_TEST(comparison.metrics.empty());
  const std::string text = verdict_text(comparison);
  BOOST_TEST(text.find("the 2 steps of both agree, but B ends there (interrupted)") != std::string::npos, text);
  script.on_row = [](StepRow& row) { row.gradients[0] += row.step == 2; };
  check_first(compare_with(folder, script), 2, "gradients", "fc1.weight");

  script = {};
  script.complete = false;
  BOOST_TEST(compare_with(folder, script).holds, "it ends at the same step");
  script.steps = 0;
  write_run(folder / "empty", script);
  BOOST_TEST(!compare_runs(folder / "empty", folder / "empty", Policy{}).holds, "there is nothing to compare");
}

BOOST_AUTO_TEST_CASE(CMP_5_tolerances_judge_metrics_and_tensors_where_digests_differ) {
  Folder folder;
  Script script;
  script.on_row = [](StepRow& row) {
    row.loss += row.loss * 0x1p-22;
    ++row.loss_digest, ++row.gradients[0], ++row.parameters[0], ++row.optimiser[0];
  };
  script.on_checkpoint = [](Checkpoint& state) { replace<float>(state, 0, {1, 2, 3, 4.0f + 0x1p-19f}); };
  check_first(compare_with(folder, script), 1, "loss", "");
  for (const char* policy : {"ulp:4", "close:1e-6,0", "close:0,1e-5"})
    BOOST_TEST(compare_with(folder, script, policy).holds, policy);
  check_first(compare_with(folder, script, "ulp:1"), 1, "loss", "");
  check_first(compare_with(folder, script, "ulp:3"), 2, "parameters", "fc1.weight");
  check_first(compare_with(folder, script, "close:0,1e-9"), 1, "loss", "");

  const Comparison comparison = compare_with(folder, script, "ulp:4");
  BOOST_TEST(comparison.tensors[0].values.max_ulp == 4u);
  BOOST_TEST(comparison.tensors[0].values.max_abs == 0x1p-19);
  BOOST_TEST(comparison.tensors[0].values.rms == 0x1p-20);
  BOOST_TEST(comparison.tensors[1].values.equal);
}

BOOST_AUTO_TEST_CASE(CMP_5_no_tolerance_covers_other_samples) {
  Folder folder;
  check_first(compare_with(folder, at_step(3, [](StepRow& row) { ++row.ids_digest; }), "close:1e9,1e9"), 3, "ids", "");
}

BOOST_AUTO_TEST_CASE(CMP_5_a_float64_run_is_close_to_a_float32_run_and_never_the_same_bits) {
  Folder folder;
  Script script;
  script.resolved["run.device"] = "reference";
  script.provenance["device"] = "reference";
  script.on_checkpoint = [](Checkpoint& state) {
    replace<double>(state, 0, {1, 2, 3 + 1e-9, 4});
    replace<double>(state, 1, {0, 0.5});
  };
  const Comparison bitwise = compare_with(folder, script);
  check_first(bitwise, 2, "parameters", "fc1.weight");
  BOOST_TEST(verdict_text(bitwise).find("float64") != std::string::npos);
  BOOST_TEST(compare_with(folder, script, "close:1e-6,0").holds);
  BOOST_TEST(!compare_with(folder, script, "close:1e-12,0").holds);
  BOOST_TEST(compare_with(folder, script, "ulp:0").holds, "rounded once to float32 they are equal");
}

BOOST_AUTO_TEST_CASE(CMP_4_the_profile_is_no_reason_to_refuse_and_is_named_where_the_runs_have_two) {
  Folder folder;
  Script script = at_step(2, [](StepRow& row) { ++row.gradients[1]; });
  script.resolved["run.numerics"] = script.provenance["numerics"] = "fast";
  const Comparison comparison = compare_with(folder, script);
  check_first(comparison, 2, "gradients", "fc1.bias");
  const std::string text = verdict_text(comparison);
  for (const char* piece : {"cpu, 1 thread, numerics fast", "B computed under numerics fast, the other under exact"})
    BOOST_TEST(text.find(piece) != std::string::npos, text);
  write_run(folder / "also fast", script);
  write_run(folder / "fast", script);
  const std::string both = verdict_text(compare_runs(folder / "fast", folder / "also fast", parse_policy("bitwise")));
  BOOST_TEST(both.find("note") == std::string::npos, both);
}

BOOST_AUTO_TEST_CASE(CMP_5_without_tensor_digests_losses_samples_and_checkpoints_decide) {
  Folder folder;
  Script script;
  script.resolved["trace.level"] = "none";
  script.names = {};
  const Comparison comparison = compare_with(folder, script);
  BOOST_TEST(comparison.holds);
  BOOST_TEST(comparison.tensors_per_step == 0u);
  script.on_row = [](StepRow& row) { row.loss_digest += row.step == 3; };
  check_first(compare_with(folder, script), 3, "loss", "");
}

BOOST_AUTO_TEST_CASE(CMP_5_the_JSON_has_the_documented_keys) {
  Folder folder;
  using nlohmann::json;
  json row = json::parse(comparison_json(compare_with(folder, {})));
  BOOST_TEST(row["holds"] == true);
  BOOST_TEST(row["policy"] == "bitwise");
  BOOST_TEST(row["steps_compared"] == 3);
  BOOST_TEST(row["first_divergence"].is_null());
  BOOST_TEST(row["refused"].is_null());
  BOOST_TEST(row["element"].is_null());
  BOOST_TEST(row["metrics"]["test_accuracy"]["a"] == 0.8125);
  BOOST_TEST(row["metrics"]["test_loss"]["b"] == 0.375);
  BOOST_TEST(row["tensors"][0]["name"] == "fc1.weight");
  for (const char* key : {"equal", "max_ulp", "max_abs", "max_rel"}) BOOST_TEST(row["tensors"][0].contains(key));

  row = json::parse(comparison_json(compare_with(folder, at_step(2, [](StepRow& r) { r.gradients[1] = 0xab; }))));
  BOOST_TEST(row["holds"] == false);
  BOOST_TEST(row["first_divergence"] == json({{"step", 2},
                                              {"table", "gradients"},
                                              {"tensor", "fc1.bias"},
                                              {"a", "0000000000000029"},
                                              {"b", "00000000000000ab"},
                                              {"also", json::array()},
                                              {"phase", "gradients"},
                                              {"module", "fc1.bias"},
                                              {"operation", nullptr}}));
  row = json::parse(comparison_json(compare_with(folder, at_step(2, [](StepRow& r) { r.ids_digest = 1; }))));
  BOOST_TEST(row["first_divergence"]["tensor"].is_null());

  Script script;
  script.resolved["experiment.seed"] = 8;
  row = json::parse(comparison_json(compare_with(folder, script)));
  BOOST_TEST(row["holds"] == false);
  BOOST_TEST(row["refused"] == "CMP-4: not the same experiment: experiment.seed is 7 in A, 8 in B");
  script = at_step(1, [](StepRow& r) { r.loss = std::numeric_limits<double>::infinity(); });
  row = json::parse(comparison_json(compare_with(folder, script)));
  BOOST_TEST(row["per_step"][0]["max_abs"].is_null());
}

BOOST_AUTO_TEST_CASE(FILE_6_a_damaged_segment_or_checkpoint_is_an_error_that_names_it) {
  Folder folder;
  for (const char* name : {"run.h5", "steps-000001.h5", "checkpoints/step-00000002.h5"}) {
    write_run(folder / "a");
    write_run(folder / "b");
    std::string bytes = files_test::bytes_of(folder / ("b/" + std::string(name)));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    files_test::put_bytes(folder / ("b/" + std::string(name)), bytes);
    files_test::refusal("FILE-6", {name}, [&] { compare_runs(folder / "a", folder / "b", Policy{}); });
    std::filesystem::remove_all(folder / "a");
    std::filesystem::remove_all(folder / "b");
  }
}

void flip_last_byte(const std::string& path) {
  std::string bytes = files_test::bytes_of(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  files_test::put_bytes(path, bytes);
}

BOOST_AUTO_TEST_CASE(FILE_6_a_damaged_last_byte_of_the_last_checkpoint_of_B_is_told) {
  Folder folder;
  write_run(folder / "a");
  const std::string last = checkpoint_path(write_run(folder / "b") + "/checkpoints", 3);
  BOOST_TEST(compare_runs(folder / "a", folder / "b", Policy{}).holds);
  flip_last_byte(last);
  files_test::refusal("FILE-6", {last, "SHA-256"}, [&] { compare_runs(folder / "a", folder / "b", Policy{}); });
}

BOOST_AUTO_TEST_CASE(FILE_6_of_several_damaged_files_the_first_in_order_is_told_however_the_threads_run) {
  Folder folder;
  const std::string a = write_run(folder / "a"), b = write_run(folder / "b");
  const auto told = [&](const std::string& path) {
    for (int i = 0; i < 20; ++i) files_test::refusal("FILE-6", {path}, [&] { compare_runs(a, b, Policy{}); });
  };
  flip_last_byte(checkpoint_path(b + "/checkpoints", 3));
  flip_last_byte(checkpoint_path(a + "/checkpoints", 3));
  told(checkpoint_path(a + "/checkpoints", 3));
  flip_last_byte(checkpoint_path(b + "/checkpoints", 2));
  told(checkpoint_path(b + "/checkpoints", 2));
  flip_last_byte(b + "/steps-000001.h5");
  told(b + "/steps-000001.h5");
  files_test::put_bytes(a + "/run.h5", "");
  told(a + "/run.h5");
}

BOOST_AUTO_TEST_CASE(CMP_2_one_element_far_behind_equal_ones_is_found) {
  std::vector<float> values(5000, 1.5f);
  const Array a = Array::of(values);
  values[4321] = 1.5f + 0x1p-23f;
  const ValueDifference difference = compare_arrays("x", a, Array::of(values), Policy{});
  BOOST_TEST(difference.different == 1u);
  BOOST_REQUIRE(difference.refused.has_value());
  BOOST_TEST(difference.refused->index == 4321u);
}

BOOST_AUTO_TEST_SUITE_END()

CONTRACT(CMP_1_an_experiment_run_twice_is_one_run_on_any_threads) {
  Folder folder;
  const std::string file = folder / "small.toml";
  files_test::put_bytes(file, R"(
    data = { kind = "synthetic", validation = 20, synthetic = { samples = 150, features = 12, classes = 4 } }
    model = { layers = [12, 17, 4], dropout = 0.25 }
    train = { batch = 32, steps = 6, shards = 2, validate_every = 3 }
    checkpoint = { every = 4 }
  )");
  const std::string device_key = "run.device=" + to_string(device);
  run_experiment({.source = file, .overrides = {device_key}, .out = folder / "once"});
  run_experiment({.source = file, .overrides = {device_key, "run.threads=3"}, .out = folder / "again"});
  set_threads(1);
  const Comparison comparison = compare_runs(folder / "once", folder / "again", Policy{});
  BOOST_TEST(comparison.holds, verdict_text(comparison));
  BOOST_TEST(comparison.steps_compared == 6u);
  BOOST_TEST(comparison.checkpoints == (std::vector<std::uint64_t>{3, 4, 6}), boost::test_tools::per_element());
  BOOST_TEST(comparison.validations_compared == 2u);
  const Comparison another = compare_runs(
      folder / "once",
      run_experiment({.source = file, .overrides = {device_key, "experiment.seed=2"}, .out = folder / "another"})
          .folder,
      Policy{});
  BOOST_TEST(refusal_text(another) == "CMP-4: not the same experiment: experiment.seed is 0 in A, 2 in B");
}
