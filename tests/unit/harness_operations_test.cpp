// The table of operations: complete, and what each row computes and refuses.
#include "harness/operations.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "autograd/ops.hpp"
#include "support/tensors.hpp"

BOOST_AUTO_TEST_SUITE(harness_operations)

using namespace assay;
using List = std::vector<std::int64_t>;

constexpr std::int64_t one = 1, two = 2, three = 3;

BOOST_AUTO_TEST_CASE(every_operation_of_the_library_has_a_row) {
  std::ifstream headers(ASSAY_SOURCE_ROOT "/src/autograd/ops.hpp");
  const std::string begin = "#include \"autograd/", end = ".hpp\"";
  std::vector<std::string> expected{"reshape", "slice", "transpose"};  // of views.hpp
  for (std::string line; std::getline(headers, line);)
    if (line.starts_with(begin) && line != begin + "views" + end)
      expected.push_back(line.substr(begin.size(), line.size() - begin.size() - end.size()));
  std::sort(expected.begin(), expected.end());
  BOOST_TEST(expected.size() > 20u);
  BOOST_TEST(operation_names() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_row_computes_its_operation_with_its_attributes) {
  const Variable x = test::drawn({3, 5}, 1), y = test::drawn({3, 5}, 2), positive = exp(x);
  const Variable square = test::drawn({5, 4}, 3), weight = test::drawn({4, 5}, 4), bias = test::drawn({4}, 5);
  const Variable x5 = slice(x, 0, 0, 1).value().reshape({5}), y5 = slice(y, 0, 0, 1).value().reshape({5});
  const Nf4 packed = kernels::quantise(weight.value(), {.block = 32});
  const Tensor labels = Tensor::from<std::int32_t>({4, 1, 0}, {3});
  const Tensor mask = Tensor::from<std::uint8_t>({1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0}, {3, 5});
  const Variable q = test::drawn({1, 2, 6}, 6), k = test::drawn({1, 3, 6}, 7), v = test::drawn({1, 3, 6}, 8);
  const Tensor weights = Tensor::from<std::uint8_t>({1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1}, {1, 2, 2, 3});
  struct Row {
    std::string operation;
    std::vector<Variable> inputs;
    Attributes attributes;
    Variable expected;
  };
  const std::vector<Row> rows{
      {"add", {x, y}, {}, add(x, y)},
      {"attention", {q, k, v}, {{"heads", three}}, attention(q, k, v, Tensor(), {.heads = 3})},
      {"attention",
       {q, k, v, weights},
       {{"heads", two}, {"p", 0.4}, {"materialised", true}},
       attention(q, k, v, weights, {.heads = 2, .p = 0.4, .materialised = true})},
      {"cross_entropy", {x, labels}, {}, cross_entropy(x, labels)},
      {"cross_entropy",
       {x, labels},
       {{"count", std::int64_t{7}}, {"ignore_index", one}, {"label_smoothing", 0.1}},
       cross_entropy(x, labels, {.label_smoothing = 0.1, .ignore_index = 1, .count = 7})},
      {"divide", {x, y}, {}, divide(x, y)},
      {"dropout", {x, mask}, {{"p", 0.4}}, dropout(x, mask, 0.4)},
      {"dropout", {x, mask}, {{"p", std::int64_t{0}}}, dropout(x, mask, 0)},
      {"embedding", {square, labels}, {}, embedding(square, labels)},
      {"exp", {x}, {}, exp(x)},
      {"gelu", {x}, {}, gelu(x)},
      {"layer_norm", {y, x5, y5}, {{"epsilon", 0.1}}, layer_norm(y, x5, y5, 0.1)},
      {"linear", {x, weight}, {}, linear(x, weight)},
      {"linear", {x, weight, bias}, {{"relu", true}}, linear(x, weight, bias, {.relu = true})},
      {"linear", {x, weight, bias}, {{"relu", false}}, linear(x, weight, bias)},
      {"log", {positive}, {}, log(positive)},
      {"log_softmax", {x}, {}, log_softmax(x)},
      {"matmul", {x, square}, {}, matmul(x, square)},
      {"maximum", {x}, {{"axis", std::int64_t{-2}}}, maximum(x, -2)},
      {"mean", {x}, {}, mean(x)},
      {"mean", {x}, {{"axes", List{0}}}, mean(x, {0})},
      {"mean_squared_error", {x, y}, {}, mean_squared_error(x, y)},
      {"mean_squared_error", {x, y}, {{"count", std::int64_t{30}}}, mean_squared_error(x, y, 30)},
      {"multiply", {x, y}, {}, multiply(x, y)},
      {"nf4_linear",
       {x, packed.codes, packed.scale_codes, packed.scales},
       {{"block", std::int64_t{32}}, {"out", std::int64_t{4}}},
       nf4_linear(x, packed)},
      {"nf4_linear",
       {x, packed.codes, packed.scale_codes, packed.scales, bias},
       {{"block", std::int64_t{32}}, {"out", std::int64_t{4}}},
       nf4_linear(x, packed, bias)},
      {"relu", {x}, {}, relu(x)},
      {"reshape", {x}, {{"shape", List{5, 3}}}, reshape(x, {5, 3})},
      {"sigmoid", {x}, {}, sigmoid(x)},
      {"slice", {x}, {{"axis", one}, {"begin", one}, {"end", three}}, slice(x, 1, 1, 3)},
      {"softmax", {x}, {}, softmax(x)},
      {"subtract", {x, y}, {}, subtract(x, y)},
      {"sum", {x}, {}, sum(x)},
      {"sum", {x}, {{"axes", List{1}}}, sum(x, {1})},
      {"tanh", {x}, {}, tanh(x)},
      {"transpose", {x}, {{"axis_a", std::int64_t{0}}, {"axis_b", one}}, transpose(x, 0, 1)},
  };
  std::vector<std::string> seen;
  for (const Row& row : rows) {
    OperationCall call{row.operation, std::vector<std::string>(row.inputs.size(), "x"), row.attributes, "y"};
    require_call("here", call);
    test::check_same_bits(row.expected.value(), apply_operation(call, row.inputs).value(), row.operation);
    if (seen.empty() || seen.back() != row.operation) seen.push_back(row.operation);
  }
  BOOST_TEST(seen == operation_names(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(FILE_3_a_call_of_what_is_not_there_is_refused_with_what_there_is) {
  auto refused = [](const OperationCall& call, const std::string& words) {
    test::check_refused([&] { require_call("golden.h5: /records/a", call); }, "FILE-3",
                        "read golden.h5: /records/a: expected " + words);
  };
  refused({"sofmax", {"x"}, {}, "y"}, "one of add, attention, cross_entropy, divide, ");
  refused({"", {"x"}, {}, "y"}, "one of add");
  refused({"add", {"x"}, {}, "y"}, "2 inputs of add, found 1");
  refused({"exp", {"x", "x"}, {}, "y"}, "1 inputs of exp, found 2");
  refused({"linear", {"x"}, {}, "y"}, "2 or 3 inputs of linear, found 1");
  refused({"exp", {"x"}, {{"base", two}}, "y"}, "no attribute of exp, found \"base\"");
  refused({"sum", {"x"}, {{"axis", one}}, "y"}, "axes of sum, found \"axis\"");
  refused({"maximum", {"x"}, {}, "y"}, "a whole number of 32 bits as axis of maximum, found none");
  refused({"maximum", {"x"}, {{"axis", std::int64_t{1} << 32}}, "y"}, "a whole number of 32 bits as axis of maximum");
  refused({"maximum", {"x"}, {{"axis", 1.0}}, "y"}, "a whole number of 32 bits as axis of maximum, found another");
  refused({"slice", {"x"}, {{"axis", one}, {"begin", one}, {"end", true}}, "y"}, "a whole number as end of slice");
  refused({"dropout", {"x", "m"}, {{"p", true}}, "y"}, "a number as p of dropout");
  refused({"linear", {"x", "w"}, {{"relu", one}}, "y"}, "true or false as relu of linear");
  refused({"reshape", {"x"}, {{"shape", two}}, "y"}, "a list of whole numbers as shape of reshape");
  refused({"sum", {"x"}, {{"axes", List{0, std::int64_t{1} << 31}}}, "y"},
          "a list of whole numbers of 32 bits as axes");
}

BOOST_AUTO_TEST_SUITE_END()
