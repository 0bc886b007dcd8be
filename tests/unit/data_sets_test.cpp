// Datasets: loading, checking, cutting, the synthetic problem, and texts.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/sha256.hpp"
#include "data/byte_tokeniser.hpp"
#include "data/datasets.hpp"
#include "data/fashion_mnist.hpp"
#include "data/text.hpp"
#include "data_files.hpp"

namespace {

using namespace assay;
using namespace assay::test;

std::string big_endian_float(float x) { return big_endian(std::bit_cast<std::uint32_t>(x)); }

/// A folder with three training and two test samples of 2 × 2 pixels.
struct SmallFolder {
  Folder folder;
  const std::string pixels = std::string("\x00\x01\x33\xFF", 4) + std::string(8, '\x10');
  SmallFolder() {
    write_file(folder / "train-images-idx3-ubyte", idx_bytes(0x08, {3, 2, 2}, pixels));
    write_file(folder / "train-labels-idx1-ubyte.gz", gzip(idx_bytes(0x08, {3}, std::string("\x02\x00\x01", 3))));
    write_file(folder / "t10k-images-idx3-ubyte", idx_bytes(0x08, {2, 2, 2}, pixels.substr(0, 8)));
    write_file(folder / "t10k-labels-idx1-ubyte", idx_bytes(0x08, {2}, std::string("\x01\x02", 2)));
  }
  std::string refused() {
    return refusal([&] { load_idx_folder(folder.path()); });
  }
};

Dataset tiny() { return {"tiny", 2, 2, 3, 1, {2}, {0, 1, 2, 3}, {}, {0, 2}, {}}; }
Dataset tiny_text() { return {"tiny", 2, 2, 5, 2, {2}, {}, {4, 1, 2, 3}, {1, 2, 3, 0}, {}}; }

BOOST_AUTO_TEST_SUITE(data_sets)

BOOST_FIXTURE_TEST_CASE(a_folder_of_idx_files_gives_scaled_pixels_labels_and_digests, SmallFolder) {
  const TrainAndTest data = load_idx_folder(folder.path());
  BOOST_TEST(data.train.count == 3);
  BOOST_TEST(data.train.features == 4);
  BOOST_TEST(data.train.classes == 3);
  BOOST_TEST((data.train.sample_shape == std::vector<std::int64_t>{2, 2}));
  BOOST_TEST(data.train.inputs[1] == 1.0f / 255.0f);
  BOOST_TEST(data.train.inputs[2] == 0.2f);
  BOOST_TEST(data.train.inputs[3] == 1.0f);
  BOOST_TEST((data.train.labels == std::vector<std::int32_t>{2, 0, 1}));
  BOOST_TEST(data.test.classes == 3);
  BOOST_REQUIRE(data.train.digests.size() == 2u);
  BOOST_TEST(data.train.digests[1].file == "train-labels-idx1-ubyte.gz");
  BOOST_TEST(data.train.digests[1].sha256.size() == 64u);
}

BOOST_FIXTURE_TEST_CASE(RUN_3_missing_data_names_the_file_the_key_and_the_package, SmallFolder) {
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte");
  const std::string names = "t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz in " + folder.path();
  BOOST_TEST(refused() == "RUN-3: data.path: expected " + names + ", found neither");
  BOOST_TEST(refusal([] { load_fashion_mnist("/nowhere"); }) ==
             "RUN-3: data.path: expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz in /nowhere (apt-get "
             "install dataset-fashion-mnist brings them, or set data.path to a folder with them), found neither");
}

BOOST_FIXTURE_TEST_CASE(RUN_3_a_file_with_another_digest_than_configured_is_refused, SmallFolder) {
  const std::string name = "train-labels-idx1-ubyte.gz",
                    digest = load_idx_folder(folder.path()).train.digests[1].sha256;
  const auto load = [&](const std::string& file, const std::string& sha256) {
    load_datasets({.kind = "idx", .path = folder.path(), .digests = {{file, sha256}}});
  };
  BOOST_CHECK_NO_THROW(load(name, digest));
  const std::string zeros(64, '0');
  BOOST_TEST(refusal([&] { load(name, zeros); }) ==
             "RUN-3: data.digests: SHA-256 of " + name + ": expected " + zeros + ", found " + digest);
  BOOST_TEST(refusal([&] { load("train-labels-idx1-ubyte", digest); }) ==
             "RUN-3: data.digests: expected files that are read, found \"train-labels-idx1-ubyte\"");
}

BOOST_FIXTURE_TEST_CASE(FILE_6_labels_that_do_not_fit_are_refused_naming_file_index_expected_and_found, SmallFolder) {
  const std::string labels = folder / "t10k-labels-idx1-ubyte", images = folder / "t10k-images-idx3-ubyte";
  const std::string start = "FILE-6: IDX file " + labels + ": expected ";
  write_file(labels, idx_bytes(0x08, {2}, "\x01\x03"));
  BOOST_TEST(refused() == start + "label 1 in [0, 3), found 3");
  write_file(labels, idx_bytes(0x08, {3}, "\x01\x01\x01"));
  BOOST_TEST(refused() == start + "as many labels as " + images + " has samples, 2, found 3");
  write_file(labels, idx_bytes(0x08, {2, 1}, "\x01\x01"));
  BOOST_TEST(refused() == start + "labels: unsigned bytes with 1 dimension, found 2 dimensions");
  write_file(labels, idx_bytes(0x0D, {2}, big_endian_float(1) + big_endian_float(1)));
  BOOST_TEST(refused() == start + "labels: unsigned bytes with 1 dimension, found float32");
}

BOOST_FIXTURE_TEST_CASE(FILE_6_samples_that_do_not_fit_are_refused_naming_file_and_index, SmallFolder) {
  const std::string images = folder / "t10k-images-idx3-ubyte";
  const std::string start = "FILE-6: IDX file " + images + ": expected ";
  write_file(images, idx_bytes(0x0D, {2, 2},
                               big_endian_float(1) + big_endian_float(2) + big_endian_float(3) +
                                   big_endian_float(std::numeric_limits<float>::quiet_NaN())));
  BOOST_TEST(refused() == start + "finite values, found nan in sample 1, value 1");
  write_file(images, idx_bytes(0x08, {2}, "\x01\x01"));
  BOOST_TEST(refused() == start + "samples: at least 2 dimensions, found 1 dimension");
  write_file(images, idx_bytes(0x08, {2, 0}, ""));
  BOOST_TEST(refused() == start + "at least one sample of at least one value, found none");
  write_file(images, idx_bytes(0x08, {2, 4}, pixels.substr(0, 8)));
  BOOST_TEST(refused() ==
             "FILE-6: test samples in " + folder.path() + ": expected the training samples' shape {2, 2}, found {4}");
  write_file(images, idx_bytes(0x08, {2, 2, 2}, pixels.substr(0, 8)));
  BOOST_TEST(refusal([&] { load_fashion_mnist(folder.path()); }) ==
             "FILE-6: training samples in " + folder.path() +
                 ": expected the shape {28, 28} (data.kind = \"idx\" takes any), found {2, 2}");
}

BOOST_AUTO_TEST_CASE(RUN_3_a_set_that_does_not_keep_its_promises_is_refused_with_the_first_index) {
  const auto refused = [](const std::function<void(Dataset&)>& damage) {
    Dataset data = tiny();
    damage(data);
    return refusal([&] { check(data); });
  };
  const std::string start = "RUN-3: data set tiny: expected ";
  BOOST_TEST(refused([](Dataset&) {}) == "");
  BOOST_TEST(refused([](Dataset& d) { d.inputs[2] = std::numeric_limits<float>::infinity(); }) ==
             start + "finite inputs, found inf in sample 1, feature 0");
  BOOST_TEST(refused([](Dataset& d) { d.labels[1] = 3; }) == start + "label 1 in [0, 3), found 3");
  BOOST_TEST(refused([](Dataset& d) { d.labels[0] = -1; }) == start + "label 0 in [0, 3), found -1");
  BOOST_TEST(refused([](Dataset& d) { d.labels.pop_back(); }) == start + "2 x 1 labels, found 1");
  BOOST_TEST(refused([](Dataset& d) { d.inputs.pop_back(); }) == start + "2 x 2 inputs, found 3");
  BOOST_TEST(refused([](Dataset& d) { d.sample_shape = {3}; }) == start + "2 features, found a sample shape of 3");
  BOOST_TEST(refused([](Dataset& d) { d.count = 0; }) ==
             start + "at least one sample, feature, class and label of a sample, found 0, 2, 3 and 1");
}

BOOST_AUTO_TEST_CASE(RUN_3_samples_of_tokens_that_do_not_keep_their_promises_are_refused) {
  const auto refused = [](const std::function<void(Dataset&)>& damage) {
    Dataset data = tiny_text();
    damage(data);
    return refusal([&] { check(data); });
  };
  const std::string start = "RUN-3: data set tiny: expected ";
  BOOST_TEST(refused([](Dataset&) {}) == "");
  BOOST_TEST(refused([](Dataset& d) { d.tokens[2] = 5; }) == start + "token 2 in [0, 5), found 5");
  BOOST_TEST(refused([](Dataset& d) { d.labels[3] = -1; }) == start + "label 3 in [0, 5), found -1");
  BOOST_TEST(refused([](Dataset& d) { d.tokens.pop_back(); }) == start + "2 x 2 tokens, found 3");
  BOOST_TEST(refused([](Dataset& d) { d.labels.pop_back(); }) == start + "2 x 2 labels, found 3");
  BOOST_TEST(refused([](Dataset& d) { d.inputs = {0, 0, 0, 0}; }) == start + "either tokens or inputs, found both");
  BOOST_TEST(refused([](Dataset& d) {
               d.labels_per_sample = 1;
               d.labels = {0, 0};
             }) == start + "a label for each token, found 1");
}

BOOST_AUTO_TEST_CASE(slice_and_gather_copy_the_samples_that_were_asked_for) {
  const Dataset data = tiny();
  const Dataset second = slice(data, 1, 1);
  BOOST_TEST((second.inputs == std::vector<float>{2, 3}));
  BOOST_TEST((second.labels == std::vector<std::int32_t>{2}));
  BOOST_TEST(slice(data, 2, 0).count == 0);
  const std::vector<std::int64_t> ids = {1, 0, 1};
  const Batch batch = gather(data, ids);
  BOOST_TEST((batch.inputs == std::vector<float>{2, 3, 0, 1, 2, 3}));
  BOOST_TEST((batch.labels == std::vector<std::int32_t>{2, 0, 2}));
  const Batch tokens = gather(tiny_text(), ids);
  BOOST_TEST((tokens.tokens == std::vector<std::int32_t>{2, 3, 4, 1, 2, 3}));
  BOOST_TEST((tokens.labels == std::vector<std::int32_t>{3, 0, 1, 2, 3, 0}));
  BOOST_TEST(tokens.inputs.empty());
  BOOST_TEST((slice(tiny_text(), 1, 1).tokens == std::vector<std::int32_t>{2, 3}));
  BOOST_TEST((slice(tiny_text(), 1, 1).labels == std::vector<std::int32_t>{3, 0}));
  BOOST_TEST(refusal([&] { slice(data, 1, 2); }) ==
             "RUN-3: slice of data set tiny: expected samples in [0, 2), found 2 samples from 1");
  const std::vector<std::int64_t> beyond = {0, 2};
  BOOST_TEST(refusal([&] { gather(data, beyond); }) ==
             "RUN-3: batch of data set tiny: expected ids in [0, 2), found 2");
}

BOOST_AUTO_TEST_CASE(the_validation_set_is_the_end_of_the_limited_training_set) {
  DataOptions options;
  options.kind = "synthetic";
  options.synthetic = {.samples = 20, .features = 3, .classes = 4, .noise = 0.5};
  const Dataset all = load_datasets(options).train;
  BOOST_TEST(all.count == 20);
  options.limit = 10;
  options.validation = 4;
  const Datasets data = load_datasets(options);
  BOOST_TEST(data.train.count == 6);
  BOOST_TEST(data.validation.count == 4);
  BOOST_TEST(data.test.count == 10);
  BOOST_TEST((data.train.inputs == slice(all, 0, 6).inputs));
  BOOST_TEST((data.validation.inputs == slice(all, 6, 4).inputs));
  BOOST_TEST(data.validation.name == "validation");
  options.validation = 10;
  BOOST_TEST(refusal([&] { load_datasets(options); }) ==
             "RUN-3: data.validation: expected fewer than the 10 training samples, found 10");
  options.kind = "csv";
  BOOST_TEST(refusal([&] { load_datasets(options); }) ==
             "RUN-3: data.kind: expected fashion_mnist, idx, synthetic, text or bible_kjv, found csv");
}

BOOST_AUTO_TEST_CASE(a_longer_synthetic_set_begins_with_the_shorter_one_and_the_test_set_is_another_draw) {
  const Dataset shorter =
      make_synthetic({.samples = 8, .features = 3, .classes = 2, .noise = 0.1}, SyntheticPart::train);
  const Dataset longer =
      make_synthetic({.samples = 9, .features = 3, .classes = 2, .noise = 0.1}, SyntheticPart::train);
  const Dataset test = make_synthetic({.samples = 8, .features = 3, .classes = 2, .noise = 0.1}, SyntheticPart::test);
  BOOST_TEST((slice(longer, 0, 8).inputs == shorter.inputs));
  BOOST_TEST((test.inputs != shorter.inputs));
  BOOST_TEST((test.labels == shorter.labels));
  BOOST_TEST(shorter.digests[0].sha256 != test.digests[0].sha256);
}

BOOST_AUTO_TEST_CASE(a_synthetic_set_can_be_told_apart_by_the_nearest_centre) {
  const Dataset data = make_synthetic({}, SyntheticPart::train), test = make_synthetic({}, SyntheticPart::test);
  const auto features = static_cast<std::size_t>(data.features);
  std::vector<std::vector<double>> means(static_cast<std::size_t>(data.classes), std::vector<double>(features));
  for (std::size_t i = 0; i < data.inputs.size(); ++i)
    means[static_cast<std::size_t>(data.labels[i / features])][i % features] +=
        data.inputs[i] * static_cast<double>(data.classes) / static_cast<double>(data.count);
  int right = 0;
  for (std::size_t i = 0; i < test.labels.size(); ++i) {
    std::vector<double> distances;
    for (const auto& mean : means) {
      double distance = 0;
      for (std::size_t j = 0; j < features; ++j) distance += std::pow(test.inputs[i * features + j] - mean[j], 2);
      distances.push_back(distance);
    }
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == test.labels[i];
  }
  BOOST_TEST(right >= 0.95 * static_cast<double>(test.count));
}

BOOST_AUTO_TEST_CASE(RUN_3_impossible_synthetic_sets_are_refused_by_key) {
  const auto refused = [](SyntheticOptions options) {
    return refusal([&] { make_synthetic(options, SyntheticPart::train); });
  };
  BOOST_TEST(refused({.samples = 0}) == "RUN-3: data.synthetic.samples: expected at least 1, found 0");
  BOOST_TEST(refused({.features = -1}) == "RUN-3: data.synthetic.features: expected at least 1, found -1");
  BOOST_TEST(refused({.classes = 0}) == "RUN-3: data.synthetic.classes: expected at least 1, found 0");
  BOOST_TEST(refused({.noise = -1}) == "RUN-3: data.synthetic.noise: expected a finite number >= 0, found -1.000000");
  BOOST_TEST(refused({.samples = std::int64_t{1} << 40, .features = 1 << 16}) ==
             "RUN-3: data.synthetic.samples: expected at most 2^28 values in all, found 1099511627776 samples");
}

BOOST_AUTO_TEST_CASE(fashion_mnist_as_debian_packages_it_loads_whole) {
  const std::string folder = DataOptions{}.path;
  if (!std::filesystem::exists(folder)) {
    BOOST_TEST_MESSAGE("skipped: apt-get install dataset-fashion-mnist");
    return;
  }
  const Datasets data = load_datasets({.validation = 5000});
  BOOST_TEST(data.train.count == 55000);
  BOOST_TEST(data.validation.count == 5000);
  BOOST_TEST(data.test.count == 10000);
  BOOST_TEST(data.train.features == 784);
  BOOST_TEST(data.train.labels[0] == 9);
  const auto [low, high] = std::minmax_element(data.test.inputs.begin(), data.test.inputs.end());
  BOOST_TEST(*low == 0.0f);
  BOOST_TEST(*high == 1.0f);
}

BOOST_AUTO_TEST_CASE(bytes_are_their_own_tokens) {
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  const std::vector<std::int32_t> tokens = encode_bytes(every);
  BOOST_REQUIRE(tokens.size() == 256u);
  for (std::size_t i = 0; i < 256; ++i) BOOST_TEST(tokens[i] == static_cast<std::int32_t>(i));
  BOOST_TEST(decode_bytes(tokens) == every);
  BOOST_TEST(decode_bytes({}) == "");
  for (std::int32_t token : {-1, 256})
    BOOST_TEST(refusal([&] {
                 decode_bytes(std::vector<std::int32_t>{7, token});
               }) == "RUN-3: byte tokeniser: expected token 1 in [0, 256), found " + std::to_string(token));
}

BOOST_AUTO_TEST_CASE(a_text_is_cut_by_position_and_the_label_of_a_byte_is_the_next_one) {
  Folder folder;
  const std::string text = "In the beginning\n\xFF";  // 18 bytes: five samples of 3, the byte after them, two left out
  write_file(folder / "a.txt", text);
  const Datasets data = load_datasets(
      {.kind = "text", .path = folder / "a.txt", .context = 3, .validation = 1, .test = 2, .digests = {}});
  BOOST_TEST(data.train.count == 2);
  BOOST_TEST(data.train.features == 3);
  BOOST_TEST(data.train.labels_per_sample == 3);
  BOOST_TEST(data.train.classes == 256);
  BOOST_TEST((data.train.sample_shape == std::vector<std::int64_t>{3}));
  BOOST_TEST(decode_bytes(data.train.tokens) == "In the");
  BOOST_TEST(decode_bytes(data.train.labels) == "n the ");
  BOOST_TEST(decode_bytes(data.validation.tokens) == " be");
  BOOST_TEST(decode_bytes(data.validation.labels) == "beg");
  BOOST_TEST(decode_bytes(data.test.tokens) == "ginnin");
  BOOST_TEST(decode_bytes(data.test.labels) == "inning");
  BOOST_TEST(data.test.name == "test");
  BOOST_TEST(data.train.inputs.empty());
  BOOST_REQUIRE(data.train.digests.size() == 1u);
  BOOST_TEST(data.train.digests[0].file == "a.txt");
  BOOST_TEST(data.train.digests[0].sha256 == sha256_of_file(folder / "a.txt"));
  BOOST_TEST(data.test.digests[0].sha256 == data.train.digests[0].sha256);
}

BOOST_AUTO_TEST_CASE(a_text_whose_last_byte_has_none_after_it_loses_the_sample_of_that_byte) {
  BOOST_TEST(cut_text({"abcdefg", {}}, 2, 1).train.count == 2);
  BOOST_TEST(cut_text({"abcdef", {}}, 2, 1).train.count == 1);
}

BOOST_AUTO_TEST_CASE(RUN_3_a_text_that_cannot_be_cut_so_is_refused) {
  const auto refused = [](const std::string& bytes, std::int64_t context, std::int64_t test) {
    return refusal([&] { cut_text({bytes, {"a.txt", ""}}, context, test); });
  };
  BOOST_TEST(refused("abcd", 2, 1) ==
             "RUN-3: text a.txt: expected two samples or more of 2 bytes (data.context) and a byte after them, found 4 "
             "bytes");
  BOOST_TEST(refused("", 1, 1).find("found 0 bytes") != std::string::npos);
  BOOST_TEST(refused("abcde", 2, 1) == "");
  BOOST_TEST(refused("abcde", 0, 1) == "RUN-3: data.context: expected at least 1 byte, found 0");
  for (std::int64_t test : {0, 2})
    BOOST_TEST(refused("abcde", 2, test) ==
               "RUN-3: data.test: expected from 1 to 1 samples of a.txt, found " + std::to_string(test));
}

BOOST_AUTO_TEST_CASE(FILE_6_a_text_that_cannot_be_read_is_refused_by_key_and_name) {
  Folder folder;
  BOOST_TEST(refusal([&] { read_text(folder / "none"); }) == "FILE-6: data.path: text file " + folder / "none" +
                                                                 ": expected a readable file, found No such file or "
                                                                 "directory");
  BOOST_TEST(refusal([&] { read_text(folder.path()); }) ==
             "FILE-6: data.path: text file " + folder.path() + ": expected a readable file, found no regular file");
  write_file(folder / "large", "");
  std::filesystem::resize_file(folder / "large", static_cast<std::uintmax_t>(text_limit) + 1);
  BOOST_TEST(refusal([&] { read_text(folder / "large"); }) ==
             "FILE-6: data.path: text file " + folder / "large" +
                 ": expected at most 268435456 bytes, found 268435457 bytes");
}

BOOST_AUTO_TEST_CASE(the_bible_as_debian_packages_it_loads_without_references) {
  if (!std::filesystem::exists("/usr/bin/bible")) {
    BOOST_TEST_MESSAGE("skipped: apt-get install bible-kjv");
    return;
  }
  const Text text = read_bible_kjv();
  BOOST_TEST(text.bytes.size() == 4137850u);
  BOOST_TEST(text.bytes.starts_with("In the beginning God created the heaven and the earth.\nAnd the earth was"));
  BOOST_TEST(text.bytes.ends_with("\nThe grace of our Lord Jesus Christ be with you all. Amen.\n"));
  BOOST_TEST(text.bytes.find(':') != std::string::npos);
  BOOST_TEST(text.digest.file == "bible-kjv");
  BOOST_TEST(text.digest.sha256 == "b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
