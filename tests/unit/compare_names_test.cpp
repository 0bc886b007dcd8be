// Maps of names: a run that calls its tensors otherwise is compared, and a map that does not fit is refused.
#include <boost/test/unit_test.hpp>

#include "compare_support.hpp"

using namespace assay;
using namespace assay::compare_test;
using files_test::put_bytes;
using files_test::refusal;

BOOST_AUTO_TEST_SUITE(compare_names_suite)

const char* const torch_names =
    "[parameters]\n\"0.weight\" = \"fc1.weight\"\n\"0.bias\" = \"fc1.bias\"\n"
    "[optimiser]\n\"exp_avg.0.weight\" = \"first_moment.fc1.weight\"\n"
    "[masks]\n\"1\" = \"dropout1\"\n";

/// The run of `write_run` under the names that PyTorch would give.
Script torch_script() {
  Script script;
  script.names = {{"0.weight", "0.bias"}, {"exp_avg.0.weight"}, {"1"}};
  script.on_checkpoint = [](Checkpoint& state) {
    state.parameters[0].name = "0.weight";
    state.parameters[1].name = "0.bias";
    state.optimiser_arrays[0].name = "exp_avg.0.weight";
  };
  return script;
}

/// A map of names in a file of `folder`.
NameMap map_of(const Folder& folder, const std::string& text) {
  put_bytes(folder / "names.toml", text);
  return read_name_map(folder / "names.toml");
}

BOOST_AUTO_TEST_CASE(CMP_4_a_run_of_other_names_is_compared_through_a_map_and_refused_without_it) {
  Folder folder;
  write_run(folder / "a");
  write_run(folder / "b", torch_script());
  BOOST_TEST(refusal_text(compare_runs(folder / "a", folder / "b", Policy{})) ==
             "CMP-4: not the same experiment: parameter 1 is fc1.weight in A, 0.weight in B; optimiser tensor 1 is "
             "first_moment.fc1.weight in A, exp_avg.0.weight in B; mask 1 is dropout1 in A, 1 in B");
  const NameMap map = map_of(folder, torch_names);
  for (const char* policy : {"bitwise", "ulp:0", "close:0,0"}) {
    const Comparison comparison = compare_runs(folder / "a", folder / "b", parse_policy(policy), {.names = map});
    BOOST_TEST(comparison.holds, verdict_text(comparison));
    BOOST_TEST(comparison.tensors.size() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(CMP_2_a_difference_is_named_as_run_A_names_it) {
  Folder folder;
  Script script = torch_script();
  script.on_row = [](StepRow& row) { row.gradients[1] ^= row.step == 2; };
  write_run(folder / "a");
  write_run(folder / "b", script);
  const Comparison comparison =
      compare_runs(folder / "a", folder / "b", Policy{}, {.names = map_of(folder, torch_names)});
  BOOST_REQUIRE(comparison.first_divergence.has_value());
  BOOST_TEST(comparison.first_divergence->step == 2u);
  BOOST_TEST(comparison.first_divergence->tensor == "fc1.bias");
}

BOOST_AUTO_TEST_CASE(CMP_4_a_name_that_the_run_does_not_have_is_refused_with_its_file_and_key) {
  Folder folder;
  RunData run = read_run(write_run(folder / "a"));
  for (const char* table : {"parameters", "optimiser", "masks"}) {
    const NameMap map = map_of(folder, "[" + std::string(table) + "]\n\"9.weight\" = \"fc9.weight\"\n");
    refusal("CMP-4", {"names.toml", std::string(table) + ".\"9.weight\"", "/names/" + std::string(table)},
            [&] { rename(run, map); });
  }
}

BOOST_AUTO_TEST_CASE(CMP_4_two_columns_of_one_name_are_refused) {
  Folder folder;
  RunData run = read_run(write_run(folder / "a"));
  const NameMap map = map_of(folder, "[parameters]\n\"fc1.weight\" = \"fc1.bias\"\n");
  refusal("CMP-4", {"names.toml", "parameters.\"fc1.bias\"", "\"fc1.bias\" twice"}, [&] { rename(run, map); });
}

BOOST_AUTO_TEST_CASE(CMP_4_two_names_can_change_places) {
  Folder folder;
  RunData run = read_run(write_run(folder / "a"));
  rename(run, map_of(folder, "[parameters]\n\"fc1.weight\" = \"fc1.bias\"\n\"fc1.bias\" = \"fc1.weight\"\n"));
  BOOST_TEST(run.description.names.parameters == (std::vector<std::string>{"fc1.bias", "fc1.weight"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(CMP_4_a_table_of_what_the_run_did_not_record_is_not_looked_at) {
  Folder folder;
  Script script;
  script.names = {};
  RunData run = read_run(write_run(folder / "a", script));
  BOOST_CHECK_NO_THROW(rename(run, map_of(folder, torch_names)));
}

BOOST_AUTO_TEST_CASE(CMP_4_a_map_of_other_content_is_refused_with_its_key) {
  Folder folder;
  const std::string tables = "the tables parameters, optimiser, masks and trace";
  refusal("CMP-4", {"names.toml: weights", tables, "another table"}, [&] { map_of(folder, "[weights]\na = \"b\"\n"); });
  refusal("CMP-4", {"names.toml: masks", tables, "no table"}, [&] { map_of(folder, "masks = \"b\"\n"); });
  refusal("CMP-4", {"parameters.\"a\"", "a name in quotes", "no text"},
          [&] { map_of(folder, "[parameters]\na = 1\n"); });
  refusal("CMP-4", {"parameters.\"a\"", "an empty one"}, [&] { map_of(folder, "[parameters]\na = \"\"\n"); });
}

BOOST_AUTO_TEST_CASE(FILE_3_a_map_that_cannot_be_read_is_refused_by_name) {
  Folder folder;
  refusal("FILE-3", {"none.toml", "a file", "none"}, [&] { read_name_map(folder / "none.toml"); });
  refusal("FILE-3", {folder.path(), "a file", "none"}, [&] { read_name_map(folder.path()); });
  refusal("FILE-3", {"names.toml:2", "TOML"}, [&] { map_of(folder, "[parameters]\nx =\n"); });
}

BOOST_AUTO_TEST_SUITE_END()
