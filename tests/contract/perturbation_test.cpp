// Runs whose initial values are moved by one ULP: what moves, by how much, and that every device starts from it.
#include "harness/perturbation.hpp"

#include <bit>
#include <cmath>

#include "base/ulp.hpp"
#include "harness/training.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Configuration perturbed(const std::string& name, const std::string& device, const std::string& more = "train.steps=1") {
  return parse_configuration(R"(
    data = { kind = "synthetic", validation = 2, synthetic = { samples = 20, features = 5, classes = 3 } }
    model = { layers = [5, 6, 3], dropout = 0.25 }
  )",
                             "test", {"model.perturbed=" + name, "run.device=" + device, more});
}

Checkpoint initial_state(const Configuration& configuration) {
  const Datasets data = load_datasets(configuration.data);
  Checkpoint state = Training(configuration, data).checkpoint();
  state.device.clear();
  for (StoredParameter& parameter : state.parameters) parameter.version = 0;  // the move is a write
  return state;
}

bool same_float_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

/// How often an element moved up and down; every one that moved did so by one ULP.
std::pair<int, int> moves(const StoredParameter& before, const StoredParameter& after) {
  BOOST_TEST(before.name == after.name);
  const std::vector<float> x = before.value.values<float>(), y = after.value.values<float>();
  int up = 0, down = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t ulps = ulp_distance(x[i], y[i]);
    BOOST_TEST(ulps <= 1u, before.name << "[" << i << "] moved by " << ulps << " ULP");
    if (ulps == 1) ++(y[i] > x[i] || (x[i] == 0 && y[i] == 0 && !std::signbit(y[i])) ? up : down);
  }
  return {up, down};
}

}  // namespace

CONTRACT(CMP_4_a_perturbed_run_starts_one_ULP_away_in_each_element_of_the_parameter) {
  const Checkpoint plain = initial_state(perturbed("", to_string(device)));
  for (const std::string name : {"fc1.weight", "fc2.bias", "all"}) {
    Checkpoint moved = initial_state(perturbed(name, to_string(device)));
    int up = 0, down = 0, elements = 0;
    for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
      const auto [its_up, its_down] = moves(plain.parameters[i], moved.parameters[i]);
      const bool named = name == "all" || name == plain.parameters[i].name;
      elements += named ? static_cast<int>(plain.parameters[i].value.values<float>().size()) : 0;
      up += its_up, down += its_down;
    }
    BOOST_TEST(up + down == elements, name);
    if (name != "fc2.bias") BOOST_TEST((up > elements / 4 && down > elements / 4), name << ": " << up << " up");
    moved.parameters = plain.parameters;
    BOOST_TEST((moved == plain), "besides the parameters something changed with " << name);
  }
}

CONTRACT(CMP_4_an_element_moves_the_same_way_whatever_else_is_perturbed_and_on_every_device) {
  const Checkpoint one = initial_state(perturbed("fc1.weight", to_string(device)));
  const Checkpoint all = initial_state(perturbed("all", to_string(device)));
  BOOST_TEST((one.parameters[0] == all.parameters[0]));
  BOOST_TEST((initial_state(perturbed("all", "cpu")) == all));
}

BOOST_AUTO_TEST_SUITE(perturbation)

BOOST_AUTO_TEST_CASE(CMP_4_a_reference_run_starts_from_the_perturbed_values_widened) {
  const Checkpoint narrow = initial_state(perturbed("all", "cpu")), wide = initial_state(perturbed("all", "reference"));
  for (std::size_t i = 0; i < narrow.parameters.size(); ++i) {
    const std::vector<float> x = narrow.parameters[i].value.values<float>();
    BOOST_TEST((std::vector<double>(x.begin(), x.end()) == wide.parameters[i].value.values<double>()));
  }
}

BOOST_AUTO_TEST_CASE(CMP_4_zeros_move_to_the_other_zero_or_to_the_smallest_number) {
  Parameter zeros(Tensor::zeros({200})), minus(Tensor::from(std::vector<float>(200, -0.0f), {200}));
  perturb({{"zeros", zeros.handle()}, {"minus", minus.handle()}}, perturbed("all", "cpu"));
  const Snapshot<float> x = zeros.value().read<float>(), y = minus.value().read<float>();
  int up = 0, down = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const bool x_up = same_float_bits(x[i], 0x1p-149f), y_up = same_float_bits(y[i], 0.0f);
    BOOST_TEST((x_up || same_float_bits(x[i], -0.0f)));
    BOOST_TEST((y_up || same_float_bits(y[i], -0x1p-149f)));
    up += x_up + y_up, down += !x_up + !y_up;
  }
  BOOST_TEST((up > 100 && down > 100), up << " up, " << down << " down");
}

BOOST_AUTO_TEST_CASE(RUN_1_an_unknown_parameter_is_refused_with_the_nearest) {
  check_refused([] { initial_state(perturbed("fc1.wieght", "cpu")); }, "RUN-1",
                "test: model.perturbed: expected a parameter of the model, or all (the nearest is fc1.weight), found "
                "\"fc1.wieght\"");
}

BOOST_AUTO_TEST_SUITE_END()
