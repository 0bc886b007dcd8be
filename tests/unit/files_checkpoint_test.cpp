// Checkpoints: round trip, strict loading, the newest good one, retention.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "checkpoint/sealed_file.hpp"
#include "files_support.hpp"
#include "harness/training.hpp"

BOOST_AUTO_TEST_SUITE(files_checkpoint)

using namespace assay;
using namespace assay::files_test;

/// Writes a file with the parts of a small checkpoint, one of them changed by `change(root)` after the rest.
struct Forged {
  std::uint64_t format_version = 1, numerics = 0, step = 5;
  std::vector<std::string> names = {"w"};
  std::function<void(hdf5::Group&)> parameters = [](hdf5::Group& group) {
    const std::vector<float> values{1, 2};
    set_attributes(group.write("w", Array::of(values)), numerics::digest(values.data(), 2));
  };
  Array draws = Array::of(std::vector<std::uint64_t>{1});

  static void set_attributes(hdf5::Object dataset, std::uint64_t digest) {
    dataset.set("axes", "");
    dataset.set("version", std::uint64_t{0});
    dataset.set("digest", digest);
  }

  void write(const std::string& path) const {
    write_sealed(path, [&](hdf5::Group& root) {
      root.set("format", "assay-checkpoint");
      root.set("format_version", format_version);
      root.set("numerics_version", numerics);
      root.set("step", step);
      root.set("device", "cpu");
      write_configuration(root, {});
      root.create_group("names").write_strings("parameters", names);
      hdf5::Group group = root.create_group("parameters");
      parameters(group);
      root.create_group("optimiser").set("kind", "sgd");
      hdf5::Group random = root.create_group("random");
      random.write_strings("streams", {"shuffle"});
      random.write("draws", draws);
      root.create_group("train");
    });
  }
};

BOOST_AUTO_TEST_CASE(FILE_8_a_checkpoint_comes_back_with_every_value_and_the_order_of_names) {
  Folder folder;
  Checkpoint checkpoint = small_checkpoint(7);
  const std::vector<double> wide{1.0 / 3, 5e-324};
  checkpoint.parameters.push_back(
      {"wide", Array::of(wide), "", std::uint64_t{1} << 63, numerics::digest(wide.data(), wide.size())});
  checkpoint.optimiser_arrays.push_back({"mask", Array::of(std::vector<std::uint8_t>{0, 1, 255})});
  checkpoint.optimiser_arrays.push_back({"index", Array::of(std::vector<std::int32_t>{-1, 2})});
  save_checkpoint(folder / "a.h5", checkpoint);
  BOOST_TEST((load_checkpoint(folder / "a.h5") == checkpoint));
}

BOOST_AUTO_TEST_CASE(REG_15_a_checkpoint_records_the_second_names_of_tied_parameters) {
  Folder folder;
  Checkpoint checkpoint = small_checkpoint(5);
  checkpoint.aliases = {{"head.weight", "fc2.weight"}, {"other.weight", "fc2.weight"}};
  save_checkpoint(folder / "a.h5", checkpoint);
  BOOST_TEST((load_checkpoint(folder / "a.h5") == checkpoint));
  checkpoint.aliases = {{"head.weight", "nobody.weight"}};
  refusal("FILE-3", {"/names/owners", "nobody.weight"}, [&] { save_checkpoint(folder / "b.h5", checkpoint); });
  checkpoint.aliases = {{"fc2.bias", "fc2.weight"}};
  refusal("FILE-3", {"/names/aliases", "\"fc2.bias\" twice"}, [&] { save_checkpoint(folder / "b.h5", checkpoint); });
}

BOOST_AUTO_TEST_CASE(FILE_3_a_checkpoint_with_other_ties_is_not_restored) {
  const Configuration configuration = parse_configuration(
      "data = { kind = \"synthetic\", validation = 2, synthetic = { samples = 8, features = 3, classes = 2 } }\n"
      "model = { layers = [3, 2] }\n",
      "test");
  const Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  Checkpoint state = training.checkpoint();
  state.aliases = {{"head.weight", "fc1.weight"}};
  refusal("FILE-3", {"tied parameters", "expected none, found head.weight is fc1.weight"},
          [&] { training.restore(state); });
}

BOOST_AUTO_TEST_CASE(FILE_3_an_invalid_checkpoint_is_refused_before_anything_is_written) {
  Folder folder;
  auto refused = [&](const std::vector<std::string>& pieces, const std::function<void(Checkpoint&)>& change) {
    Checkpoint checkpoint = small_checkpoint(5);
    change(checkpoint);
    refusal("FILE-3", pieces, [&] { save_checkpoint(folder / "a.h5", checkpoint); });
  };
  const float infinity = std::numeric_limits<float>::infinity();
  refused({"/parameters/bad", "finite", "element 1"}, [&](Checkpoint& c) {
    c.parameters.push_back(parameter("bad", {0, infinity}, {2}));
  });
  refused({"/optimiser/second_moment.fc2.weight", "finite"},
          [&](Checkpoint& c) { c.optimiser_arrays[0].array = Array::of(std::vector<float>{-infinity}); });
  refused({"fc2.weight", "digest"}, [](Checkpoint& c) { ++c.parameters[0].digest; });
  refused({"\"fc2.bias\" twice"}, [](Checkpoint& c) { c.parameters[0].name = "fc2.bias"; });
  refused({"without '/'", "a/b"}, [](Checkpoint& c) { c.parameters[0].name = "a/b"; });
  refused({"/random/draws", "2 entries", "found 1"}, [](Checkpoint& c) { c.random_draws.pop_back(); });
  refused({"float32 or float64", "uint8"},
          [](Checkpoint& c) { c.parameters[0].value = Array::of(std::vector<std::uint8_t>{1}); });
  refused({"kind"}, [](Checkpoint& c) { c.optimiser_scalars["kind"] = 1.0; });
  refused({"shape", "[2, -1]"}, [](Checkpoint& c) { c.parameters[0].value.shape = {2, -1}; });
  BOOST_TEST(files_in(folder.path()) == 0u);
}

BOOST_AUTO_TEST_CASE(FILE_3_a_load_refuses_what_is_missing_extra_misshapen_or_of_another_version) {
  Folder folder;
  const std::string path = folder / "a.h5";
  auto refused = [&](const std::vector<std::string>& pieces, const std::function<void(Forged&)>& change) {
    Forged forged;
    change(forged);
    forged.write(path);
    refusal("FILE-3", pieces, [&] { load_checkpoint(path); });
  };
  Forged().write(path);
  BOOST_TEST(load_checkpoint(path).parameters.size() == 1u);
  refused({path, "format_version 1", "found 2"}, [](Forged& f) { f.format_version = 2; });
  refused({path, "numerics_version of at most 0", "found 9"}, [](Forged& f) { f.numerics = 9; });
  refused({"/random/draws", "found 2"}, [](Forged& f) { f.draws = Array::of(std::vector<std::uint64_t>{1, 2}); });
  refused({"uint64", "float32"}, [](Forged& f) { f.draws = Array::of(std::vector<float>{1}); });
  refused({"/parameters/w", "digest"}, [](Forged& f) {
    f.parameters = [](hdf5::Group& group) {
      Forged::set_attributes(group.write("w", Array::of(std::vector<float>{1, 3})), 5);
    };
  });
  refused({"/parameters/w", "a dataset"},
          [](Forged& f) { f.parameters = [](hdf5::Group& group) { group.create_group("w"); }; });
  refused({"@axes", "an attribute"}, [](Forged& f) {
    f.parameters = [](hdf5::Group& group) { group.write("w", Array::of(std::vector<float>{1})); };
  });
  write_sealed(path, [](hdf5::Group& root) { root.set("format", "assay-run"); });
  refusal("FILE-3", {"assay-checkpoint", "assay-run"}, [&] { load_checkpoint(path); });
}

BOOST_AUTO_TEST_CASE(FILE_8_a_list_of_names_that_is_not_that_of_the_datasets_in_their_order_is_refused) {
  Folder folder;
  auto refused = [&](std::vector<std::string> names, const std::string& expected, const std::string& found) {
    Forged forged;
    forged.names = std::move(names);
    forged.parameters = [](hdf5::Group& group) {
      for (const char* name : {"w", "a"}) {
        const std::vector<float> values{1, 2};
        Forged::set_attributes(group.write(name, Array::of(values)), numerics::digest(values.data(), 2));
      }
    };
    forged.write(folder / "a.h5");
    refusal("FILE-3", {expected + ", as /names/parameters", "found " + found},
            [&] { load_checkpoint(folder / "a.h5"); });
  };
  refused({"a", "w"}, "\"a\" as parameter 0", "\"w\"");
  refused({"w", "v"}, "\"v\" as parameter 1", "\"a\"");
  refused({"w"}, "nothing as parameter 1", "\"a\"");
  refused({"w", "a", "x"}, "\"x\" as parameter 2", "nothing");
}

BOOST_AUTO_TEST_CASE(FILE_6_a_shape_that_the_file_does_not_store_allocates_nothing) {
  Folder folder;
  write_sealed(folder / "a.h5", [](hdf5::Group& root) {
    root.write_virtual("x", ElementType::float32, {std::int64_t{1} << 50}, "/x", {});
  });
  refusal("FILE-3", {"/x", "1125899906842624", "0 stored bytes"}, [&] { open_sealed(folder / "a.h5").root.read("x"); });
}

BOOST_AUTO_TEST_CASE(FILE_2_a_torn_checkpoint_is_refused_by_name_and_the_last_good_one_is_used) {
  Folder folder;
  BOOST_TEST(!latest_checkpoint(folder / "none").checkpoint);
  for (std::uint64_t step : {100, 200, 300, 400})
    save_checkpoint(checkpoint_path(folder.path(), step), small_checkpoint(step));
  BOOST_TEST(latest_checkpoint(folder.path()).checkpoint->step == 400u);
  const std::string torn = checkpoint_path(folder.path(), 400), renamed = checkpoint_path(folder.path(), 300);
  put_bytes(torn, bytes_of(torn).substr(0, 3000));
  put_bytes(renamed, bytes_of(checkpoint_path(folder.path(), 100)));
  put_bytes(folder / "step-x.h5", "");
  const LatestCheckpoint latest = latest_checkpoint(folder.path());
  BOOST_TEST(latest.checkpoint->step == 200u);
  BOOST_TEST(latest.path == checkpoint_path(folder.path(), 200));
  BOOST_REQUIRE(latest.refused.size() == 2u);
  BOOST_TEST(latest.refused[0].path == torn);
  BOOST_TEST(latest.refused[0].reason.find("bytes after the first block") != std::string::npos);
  BOOST_TEST(latest.refused[1].path == renamed);
  BOOST_TEST(latest.refused[1].reason.find("300") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(FILE_2_retention_keeps_the_last_and_the_best) {
  Folder folder;
  for (std::uint64_t step = 100; step <= 600; step += 100)
    save_checkpoint(checkpoint_path(folder.path(), step), small_checkpoint(step));
  put_bytes(checkpoint_path(folder.path(), 700) + ".partial", "left by a kill");
  retain(folder.path(), 2, 200);
  std::vector<std::uint64_t> steps;
  for (const auto& [step, path] : checkpoint_files(folder.path())) steps.push_back(step);
  BOOST_TEST(steps == (std::vector<std::uint64_t>{200, 500, 600}), boost::test_tools::per_element());
  BOOST_TEST(files_in(folder.path()) == 3u);
  refusal("FILE-9", {"at least 1"}, [&] { retain(folder.path(), 0, std::nullopt); });
}

BOOST_AUTO_TEST_CASE(FILE_8_h5py_and_h5dump_read_a_checkpoint_in_creation_order) {
  Folder folder;
  save_checkpoint(folder / "a.h5", small_checkpoint(5));
  const int code = python(folder, R"(
import sys, h5py, subprocess
with h5py.File(sys.argv[1]) as f:
    assert f.userblock_size == 512 and f.attrs['format'] == 'assay-checkpoint' and f.attrs['step'] == 5
    assert list(f['parameters']) == ['fc2.weight', 'fc2.bias', 'fc1.scale'], list(f['parameters'])
    assert list(f['names/parameters'].asstr()[:]) == list(f['parameters'])
    assert f['parameters/fc2.weight'].dtype == 'f4' and f['parameters/fc2.weight'].shape == (2, 3)
    assert f['parameters/fc2.weight'][1, 1] == 5 and f['parameters/fc2.weight'].attrs['axes'] == 'OI'
    assert f['parameters/fc2.bias'].shape == (0, 4) and f['parameters/fc1.scale'].shape == ()
    assert f['config/toml'].asstr()[()] == '[train]\nsteps = 200\n'
    assert list(f['config/overrides'].asstr()) == ['train.steps=200', 'seed=ü']
    assert f['train'].attrs['best'] == 0.75 and f['train'].attrs['note'] == 'é'
subprocess.run(['h5dump', sys.argv[1]], check=True, stdout=subprocess.DEVNULL)
)",
                          folder / "a.h5");
  BOOST_TEST(code == 0);
}

BOOST_AUTO_TEST_SUITE_END()
