// Contract of a training step: what it moves between host and device, and what is left of one that fails.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "data/text.hpp"
#include "device/counters.hpp"
#include "harness/training.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// Dropout, two shards, clipping, AdamW and digests.
Configuration tiny(Device device) {
  return parse_configuration(R"(
    data = { kind = "synthetic", validation = 4, synthetic = { samples = 24, features = 3, classes = 2 } }
    model = { layers = [3, 5, 2], dropout = 0.25 }
    optimiser = { learning_rate = 0.01, weight_decay = 0.01 }
    train = { batch = 8, epochs = 2, clip_norm = 0.1, shards = 2 }
  )",
                             "test", {"run.device=" + to_string(device)});
}

struct StepFixture {
  Configuration configuration;
  Datasets data;
  Training training;

  explicit StepFixture(Device device)
      : configuration(tiny(device)), data(load_datasets(configuration.data)), training(configuration, data) {}
};

/// A decoder of two blocks on 200 bytes of text, with the same.
struct DecoderFixture {
  static constexpr std::uint64_t shards = 2, rows = 4, context = 6, width = 8, heads = 2, blocks = 2;
  Datasets data;
  Training training;

  explicit DecoderFixture(Device device) : data(text()), training(configuration(device), data) {}

  static Datasets text() {
    Text text;
    for (int i = 0; i < 200; ++i) text.bytes += static_cast<char>('a' + i % 7);
    const TrainAndTest sets = cut_text(text, static_cast<std::int64_t>(context), 2);
    return {sets.train, {}, sets.test};
  }
  static Configuration configuration(Device device) {
    return parse_configuration(R"(
      model = { kind = "decoder", width = 8, heads = 2, blocks = 2, hidden = 12, dropout = 0.25 }
      train = { batch = 4, epochs = 2, clip_norm = 0.1, shards = 2 }
    )",
                               "test", {"run.device=" + to_string(device)});
  }
};

using AccessTable = std::map<std::string, std::string>;  // access and place → count and bytes

/// Without line numbers and template arguments, so that only another access changes it.
AccessTable table_of(const std::vector<AccessRow>& rows) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const AccessRow& row : rows) {
    const std::size_t source = row.file.rfind("src/");
    std::string place =
        to_string(row.access) + "\t" + (source == std::string::npos ? row.file : row.file.substr(source));
    auto& [count, bytes] = sums[place + "\t" + row.function.substr(0, row.function.find('<'))];
    count += row.count;
    bytes += row.bytes;
  }
  AccessTable table;
  for (const auto& [place, sum] : sums) table[place] = std::to_string(sum.first) + "\t" + std::to_string(sum.second);
  return table;
}

AccessTable golden(const std::string& path) {
  std::ifstream file(path);
  BOOST_TEST(file.good(), path << " is missing");
  AccessTable table;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string access, source, function, numbers;
    std::getline(words, access, '\t');
    std::getline(words, source, '\t');
    std::getline(words, function, '\t');
    std::getline(words, numbers);
    table[access + "\t" + source + "\t" + function] = numbers;
  }
  return table;
}

/// The accesses of the second step are those of tests/golden/NAME_DEVICE.tsv.
void check_table(const char* name, Training& training, Device device) {
  training.advance();
  AccessScope counts;
  training.advance();
  const AccessTable found = table_of(counts.rows());
  // A GPU does what the simulated device does. Where this program was built elsewhere, the environment names the
  // sources.
  const char* root = std::getenv("ASSAY_SOURCE_ROOT");
  const std::string path = std::string(root ? root : ASSAY_SOURCE_ROOT) + "/tests/golden/" + name + "_" +
                           to_string(device == cpu ? cpu : simulated) + ".tsv";
  const AccessTable expected = golden(path);
  for (const auto& [place, numbers] : found) {
    const auto known = expected.find(place);
    BOOST_TEST((known != expected.end() && known->second == numbers),
               place << ": expected " << (known == expected.end() ? "none" : known->second) << ", found " << numbers);
  }
  for (const auto& [place, numbers] : expected) BOOST_TEST(found.count(place), place << ": expected " << numbers);
  if (found == expected) return;
  std::string text = "when the change is meant, " + path + " becomes\n";
  for (const auto& [place, numbers] : found) text += place + "\t" + numbers + "\n";
  BOOST_TEST_MESSAGE(text);
}

}  // namespace

CONTRACT(ACC_10_a_training_step_moves_batch_and_masks_in_and_one_record_out) {
  StepFixture fixture(device);
  fixture.training.advance();
  const DeviceCounters before = device_counters(device);
  fixture.training.advance();
  const DeviceCounters after = device_counters(device);
  const std::uint64_t shards = 2, rows = 8, inputs = rows * 3 * 4, labels = rows * 4, masks = rows * 5;
  BOOST_TEST(after.uploads - before.uploads == 3 * shards);
  BOOST_TEST(after.uploaded_bytes - before.uploaded_bytes == inputs + labels + masks);
  // 2 numbers of the loss; of each of 4 parameters Σg², a flag and digests of value, gradient and two moments.
  BOOST_TEST(after.downloads - before.downloads == 1u);
  BOOST_TEST(after.downloaded_bytes - before.downloaded_bytes == (2 + 4 * 6) * sizeof(std::uint64_t));
}

CONTRACT(ACC_10_a_step_of_a_decoder_moves_tokens_positions_and_masks_in_and_one_record_out) {
  using D = DecoderFixture;
  D fixture(device);
  fixture.training.advance();
  const DeviceCounters before = device_counters(device);
  fixture.training.advance();
  const DeviceCounters after = device_counters(device);
  // Tokens, labels, positions and the mask behind the embeddings; of each block those of weights and both branches.
  BOOST_TEST(after.uploads - before.uploads == D::shards * (4 + 3 * D::blocks));
  const std::uint64_t tokens = D::rows * D::context, of_embedding = tokens * D::width,
                      of_block = D::rows * D::heads * D::context * D::context + 2 * tokens * D::width;
  BOOST_TEST(after.uploaded_bytes - before.uploaded_bytes ==
             4 * (2 * tokens + D::shards * D::context) + of_embedding + D::blocks * of_block);
  BOOST_TEST(after.downloads - before.downloads == 1u);
  const std::uint64_t parameters = 2 + 16 * D::blocks + 4;
  BOOST_TEST(after.downloaded_bytes - before.downloaded_bytes == (2 + parameters * 6) * sizeof(std::uint64_t));
}

CONTRACT(ACC_10_each_place_asks_as_often_as_the_golden_tables_say) {
  StepFixture perceptron(device);
  check_table("training_step", perceptron.training, device);
  DecoderFixture decoder(device);
  check_table("decoder_step", decoder.training, device);
}

CONTRACT(RES_6_a_step_in_which_the_device_fails_is_as_if_it_had_not_been_called_or_is_taken_as_a_whole) {
  StepFixture undisturbed(device);
  std::vector<StepRow> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(undisturbed.training.advance());
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch})
    for (std::uint64_t nth = 1;; ++nth) {
      StepFixture fixture(device);
      fixture.training.advance();
      bool failed = false;
      {
        FaultScope fault(device, action, nth);
        try {
          fixture.training.advance();
        } catch (const Error& error) {
          BOOST_TEST(error.id() == "RES-6", error.what());
          failed = true;
        }
        if (!fault.fired()) break;
      }
      BOOST_TEST(failed);
      if (fixture.training.step() == 1) fixture.training.advance();
      const StepRow row = fixture.training.advance();
      BOOST_TEST(row.step == 3u);
      BOOST_TEST(row.parameters == expected[2].parameters, "failure " << nth << " left something behind");
      BOOST_TEST(row.masks == expected[2].masks);
    }
}
