// Golden files: what is read, what is refused, and the verdict on a record.
#include "compare/golden.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>

#include "checkpoint/sealed_file.hpp"
#include "files_support.hpp"
#include "support/tensors.hpp"

BOOST_AUTO_TEST_SUITE(compare_golden)

using namespace assay;
using files_test::Folder;

constexpr const char* double_then_add =
    R"([{"operation": "add", "inputs": ["x", "x"], "attributes": {}, "output": "#1"},
        {"operation": "add", "inputs": ["#1", "x"], "attributes": {}, "output": "y"}])";

/// A record 3·x of two elements, of which `calls` and the rest may say something else.
struct Draft {
  std::string calls = double_then_add, tolerance = "bitwise";
  Array x = Array::of(std::vector<float>{1, 2}), y = Array::of(std::vector<float>{3, 6});
  std::string output = "y";

  void write(hdf5::Group& records, const std::string& name) const {
    hdf5::Group group = records.create_group(name);
    group.set("operation", std::string("Triple"));
    group.set("calls", calls);
    group.set("tolerance", tolerance);
    group.create_group("inputs").write("x", x);
    group.create_group("expected").write(output, y);
  }
};

void write_golden(const std::string& path, const std::function<void(hdf5::Group&)>& fill) {
  write_sealed(path, [&](hdf5::Group& root) {
    write_format(root, "assay-golden", 1);
    root.set("source", std::string("this test"));
    hdf5::Group records = root.create_group("records");
    fill(records);
  });
}

GoldenRecord record_of(const Draft& draft) {
  Folder folder;
  write_golden(folder / "golden.h5", [&](hdf5::Group& records) { draft.write(records, "triple"); });
  return read_golden(folder / "golden.h5").records.at(0);
}

using Verdict = GoldenResult::Verdict;

BOOST_AUTO_TEST_CASE(records_are_read_in_order_with_what_they_hold) {
  Folder folder;
  write_golden(folder / "golden.h5", [](hdf5::Group& records) {
    Draft{.tolerance = "ulp:3"}.write(records, "z first");
    hdf5::Group other = records.create_group("a second");
    other.set("operation", std::string("Loop"));
    other.set("unsupported", std::string("no such operation"));
  });
  const GoldenFile golden = read_golden(folder / "golden.h5");
  BOOST_TEST(golden.source == "this test");
  BOOST_REQUIRE(golden.records.size() == 2u);
  const GoldenRecord &first = golden.records[0], &second = golden.records[1];
  BOOST_TEST(first.name == "z first");
  BOOST_TEST(first.operation == "Triple");
  BOOST_TEST(first.unsupported == "");
  BOOST_TEST(first.calls.size() == 2u);
  BOOST_TEST(first.calls[1].output == "y");
  BOOST_TEST((first.calls[1].inputs == std::vector<std::string>{"#1", "x"}));
  BOOST_TEST(first.tolerance.ulps == 3u);
  BOOST_TEST(second.unsupported == "no such operation");
  const GoldenResult result = run_record(second, cpu);
  BOOST_TEST((result.verdict == Verdict::unsupported));
  BOOST_TEST(result.reason == "no such operation");
}

BOOST_AUTO_TEST_CASE(attributes_of_every_kind_are_read) {
  const GoldenRecord record = record_of(
      {.calls = R"([{"operation": "reshape", "inputs": ["x"], "attributes": {"shape": [1, 2]}, "output": "#1"},
                    {"operation": "linear", "inputs": ["#1", "#1"], "attributes": {"relu": true}, "output": "#2"},
                    {"operation": "maximum", "inputs": ["#2"], "attributes": {"axis": -1}, "output": "y"}])",
       .y = Array::of(std::vector<float>{5})});
  for (const Device device : test::devices())
    BOOST_TEST((run_record(record, device).verdict == Verdict::passed), to_string(device));
  BOOST_TEST(std::get<bool>(record.calls[1].attributes.at("relu")));
  BOOST_TEST(std::get<std::int64_t>(record.calls[2].attributes.at("axis")) == -1);
}

BOOST_AUTO_TEST_CASE(a_record_passes_within_its_tolerance_on_every_device) {
  const Array near = Array::of(std::vector<float>{3 + 0x1p-21f, 6});  // 2 ULP from 3
  for (const Device device : test::devices()) {
    BOOST_TEST((run_record(record_of({}), device).verdict == Verdict::passed), to_string(device));
    for (const char* tolerance : {"ulp:2", "close:0,5e-7", "close:2e-7,0"})
      BOOST_TEST((run_record(record_of({.tolerance = tolerance, .y = near}), device).verdict == Verdict::passed),
                 tolerance << " on " << to_string(device));
    for (const char* tolerance : {"bitwise", "ulp:1", "close:0,4e-7", "close:1e-7,0"})
      BOOST_TEST((run_record(record_of({.tolerance = tolerance, .y = near}), device).verdict == Verdict::failed),
                 tolerance << " on " << to_string(device));
  }
}

BOOST_AUTO_TEST_CASE(a_failed_record_names_the_first_element_that_is_not_accepted) {
  const Draft draft{
      .tolerance = "ulp:1",
      .x = Array::of(std::span<const float>(std::vector<float>{1, 2, 4, 8}), {2, 2}),
      .y = Array::of(std::span<const float>(std::vector<float>{3 + 0x1p-22f, 6, 12 + 0x1p-18f, 0}), {2, 2})};
  for (const Device device : test::devices()) {
    const GoldenResult result = run_record(record_of(draft), device);
    BOOST_TEST((result.verdict == Verdict::failed));
    BOOST_REQUIRE(result.difference.has_value());
    BOOST_TEST(result.difference->output == "y");
    BOOST_TEST(result.difference->index == "[1, 0]");
    BOOST_TEST(result.difference->expected == 12 + 0x1p-18);
    BOOST_TEST(result.difference->found == 12.0);
    BOOST_TEST(result.difference->ulp == 4u);
  }
}

BOOST_AUTO_TEST_CASE(NaN_is_equal_to_NaN_and_to_no_number_and_zeros_have_a_sign) {
  constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
  const Array x = Array::of(std::vector<float>{nan_value, 0});
  auto verdict = [&](float first, float second, const char* tolerance) {
    return run_record(record_of({.tolerance = tolerance, .x = x, .y = Array::of(std::vector<float>{first, second})}),
                      cpu)
        .verdict;
  };
  BOOST_TEST((verdict(nan_value, 0, "bitwise") == Verdict::passed));
  BOOST_TEST((verdict(1, 0, "close:1e9,1e9") == Verdict::failed));
  BOOST_TEST((verdict(nan_value, -0.0f, "bitwise") == Verdict::failed));
}

BOOST_AUTO_TEST_CASE(another_shape_and_the_refusal_of_an_operation_are_failures_with_their_reason) {
  const GoldenResult shape = run_record(record_of({.y = Array::of(std::vector<float>{3})}), cpu);
  BOOST_TEST((shape.verdict == Verdict::failed));
  BOOST_TEST(shape.reason == "y: expected shape [1], found [2]");
  const Draft refused{.calls =
                          R"([{"operation": "maximum", "inputs": ["x"], "attributes": {"axis": 1}, "output": "y"}])"};
  const GoldenResult result = run_record(record_of(refused), cpu);
  BOOST_TEST((result.verdict == Verdict::failed));
  BOOST_TEST(result.reason.starts_with("ACC-4: "), result.reason);
  const Draft whole{
      .calls = R"([{"operation": "reshape", "inputs": ["x"], "attributes": {"shape": [2]}, "output": "y"}])",
      .x = Array::of(std::vector<std::int32_t>{1, 2})};
  BOOST_TEST((run_record(record_of(whole), cpu).verdict == Verdict::failed));
}

BOOST_AUTO_TEST_CASE(FILE_3_what_a_golden_file_asks_for_and_is_not_there_is_refused) {
  auto refused = [](const Draft& draft, const std::vector<std::string>& words) {
    files_test::refusal("FILE-3", words, [&] { record_of(draft); });
  };
  auto calls = [](const std::string& text) { return Draft{.calls = text}; };
  refused(calls("no JSON"), {"golden.h5: /records/triple/@calls", "a list of calls in JSON", "no JSON"});
  refused(calls("{}"), {"a list of calls in JSON"});
  refused(calls("[1]"), {"calls with operation, inputs (a list), attributes (an object) and output", "found 1"});
  refused(calls(R"([{"operation": "exp", "inputs": ["x"], "output": "y"}])"), {"attributes (an object)"});
  refused(calls(R"([{"operation": "exp", "inputs": "x", "attributes": {}, "output": "y"}])"), {"inputs (a list)"});
  refused(calls(R"([{"operation": "exp", "inputs": ["x"], "attributes": [], "output": "y"}])"),
          {"attributes (an object)"});
  refused(calls(R"([{"operation": "exp", "inputs": [1], "attributes": {}, "output": "y"}])"), {"a name, found 1"});
  refused(calls(R"([{"operation": "exp", "inputs": ["x"], "attributes": {}, "output": ""}])"), {"a name, found \"\""});
  refused(calls(R"([{"operation": "erf", "inputs": ["x"], "attributes": {}, "output": "y"}])"),
          {"/records/triple/@calls", "one of add", "\"erf\""});
  refused(calls(R"([{"operation": "exp", "inputs": ["x"], "attributes": {"base": 2}, "output": "y"}])"),
          {"no attribute of exp", "\"base\""});
  refused(calls(R"([{"operation": "maximum", "inputs": ["x"], "attributes": {"axis": "0"}, "output": "y"}])"),
          {"a whole number of 64 bits", "\"0\""});
  refused(
      calls(
          R"([{"operation": "maximum", "inputs": ["x"], "attributes": {"axis": 9223372036854775808}, "output": "y"}])"),
      {"a whole number of 64 bits", "9223372036854775808"});
  refused(calls(R"([{"operation": "exp", "inputs": ["z"], "attributes": {}, "output": "y"}])"),
          {"/records/triple", "an input or an earlier output", "\"z\""});
  refused(calls(R"([{"operation": "exp", "inputs": ["x"], "attributes": {}, "output": "x"}])"),
          {"another name for each input and output", "\"x\" twice"});
  refused(Draft{.output = "z"}, {"expected results that a call gives", "\"z\""});
  refused(Draft{.output = "x"}, {"expected results that a call gives", "\"x\""});
  refused(Draft{.tolerance = "ulp:-1"}, {"/records/triple/@tolerance", "bitwise, ulp:N", "ulp:-1"});
  refused(Draft{.x = Array::of(std::vector<double>{1, 2})}, {"/inputs/x", "float32 or int32 or uint8", "float64"});
  refused(Draft{.y = Array::of(std::vector<double>{3, 6})}, {"/expected/y", "float32", "float64"});
}

BOOST_AUTO_TEST_CASE(FILE_3_a_record_without_its_parts_and_a_file_of_another_format_are_refused) {
  Folder folder;
  const std::string path = folder / "golden.h5";
  auto refused = [&](const std::vector<std::string>& words, const std::function<void(hdf5::Group&)>& fill) {
    write_golden(path, fill);
    files_test::refusal("FILE-3", words, [&] { read_golden(path); });
  };
  refused({"/records/a", "@operation"}, [](hdf5::Group& records) { records.create_group("a"); });
  refused({"/records/a", "@calls"},
          [](hdf5::Group& records) { records.create_group("a").set("operation", std::string("A")); });
  refused({"/records/a", "a reason"}, [](hdf5::Group& records) {
    hdf5::Group group = records.create_group("a");
    group.set("operation", std::string("A"));
    group.set("unsupported", std::string());
  });
  refused({"/records/a", "an expected result", "none"}, [](hdf5::Group& records) {
    hdf5::Group group = records.create_group("a");
    group.set("operation", std::string("A"));
    group.set("calls", std::string("[]"));
    group.set("tolerance", std::string("bitwise"));
    group.create_group("inputs");
    group.create_group("expected");
  });
  write_sealed(path, [](hdf5::Group& root) { write_format(root, "assay-run", 1); });
  files_test::refusal("FILE-3", {path, "assay-golden", "assay-run"}, [&] { read_golden(path); });
  write_sealed(path, [](hdf5::Group& root) { write_format(root, "assay-golden", 2); });
  files_test::refusal("FILE-3", {path, "format_version 1", "2"}, [&] { read_golden(path); });
}

BOOST_AUTO_TEST_CASE(FILE_6_a_damaged_golden_file_is_refused_by_name) {
  Folder folder;
  const std::string path = folder / "golden.h5";
  write_golden(path, [](hdf5::Group& records) { Draft{}.write(records, "triple"); });
  const std::string good = files_test::bytes_of(path);
  for (std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{600}, good.size() - 1}) {
    files_test::put_bytes(path, good.substr(0, length));
    files_test::refusal("FILE-6", {path}, [&] { read_golden(path); });
  }
  for (std::size_t at = 3; at < good.size(); at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    files_test::put_bytes(path, bad);
    files_test::refusal("FILE-6", {path}, [&] { read_golden(path); });
  }
}

BOOST_AUTO_TEST_SUITE_END()
