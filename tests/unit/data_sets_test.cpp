// Datasets: loading, checking, cutting, and the synthetic problem.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/datasets.hpp"
#include "data/fashion_mnist.hpp"
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

Dataset tiny() { return {"tiny", 2, 2, 3, {2}, {0, 1, 2, 3}, {0, 2}, {}}; }

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
  BOOST_CHECK_NO_THROW(load_idx_folder(folder.path(), {{name, digest}}));
  const std::string zeros(64, '0');
  BOOST_TEST(refusal([&] {
               load_idx_folder(folder.path(), {{name, zeros}});
             }) == "RUN-3: data.digests: SHA-256 of " + folder / name + ": expected " + zeros + ", found " + digest);
  BOOST_TEST(refusal([&] {
               load_idx_folder(folder.path(), {{"train-labels-idx1-ubyte", digest}});
             }) == "RUN-3: data.digests: expected files that are read, found \"train-labels-idx1-ubyte\"");
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
  BOOST_TEST(refused([](Dataset& d) { d.labels.pop_back(); }) == start + "2 labels, found 1");
  BOOST_TEST(refused([](Dataset& d) { d.inputs.pop_back(); }) == start + "2 x 2 inputs, found 3");
  BOOST_TEST(refused([](Dataset& d) { d.sample_shape = {3}; }) == start + "2 features, found a sample shape of 3");
  BOOST_TEST(refused([](Dataset& d) { d.count = 0; }) ==
             start + "at least one sample, feature and class, found 0, 2 and 3");
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
             "RUN-3: data.kind: expected fashion_mnist, idx or synthetic, found csv");
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
