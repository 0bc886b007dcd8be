// Run folders: segments, resume, kills at any moment, what h5py sees.
#include <hdf5.h>
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <numeric>
#include <random>
#include <thread>

#include "checkpoint/sealed_file.hpp"
#include "files_support.hpp"

BOOST_AUTO_TEST_SUITE(files_run)

using namespace assay;
using namespace assay::files_test;

constexpr const char* check_run = R"(
import sys, h5py, subprocess, numpy as np
for path in sys.argv[1:]:
    with h5py.File(path) as f:
        last = int(f.attrs['last_step'])
        steps = np.arange(1, last + 1)
        assert f['steps/step'].dtype == 'u8' and np.array_equal(f['steps/step'][()], steps), (path, last)
        assert np.array_equal(f['steps/loss'][()], 0.5 * steps)
        assert np.array_equal(f['steps/gradients'][()].reshape(last, 2)[:, 1], 20 * steps + 1)
        assert f['steps/masks'].shape == (last, 0) and f['steps/finite'][()].all()
        assert f['timing/seconds'].shape == (last,) and (f['timing/seconds'][()] == 0.01).all()
        assert np.array_equal(f['validation/step'][()], steps[9::10])
        assert np.array_equal(f['validation/loss'][()], 0.25 * steps[9::10])
        assert list(f['names/parameters'].asstr()) == ['a.weight', 'a.bias'] and f['provenance'].attrs['device'] == 'cpu'
    subprocess.run(['h5dump', path], check=True, stdout=subprocess.DEVNULL)
)";

BOOST_AUTO_TEST_CASE(FILE_9_a_run_comes_back_row_by_row_with_its_description_and_result) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  BOOST_TEST(holds_rows(read_run(folder.path()), 0));
  append_until(run, 25);
  BOOST_TEST(holds_rows(read_run(folder.path()), 0));
  run.close_segment();
  BOOST_TEST(holds_rows(read_run(folder.path()), 25));
  run.close_segment();
  append_until(run, 30);
  run.interrupt();
  BOOST_TEST(read_run(folder.path()).status == "interrupted");
  append_until(run, 40);
  run.finish({40, 0.5, 0.875, "ab", 1.25});
  const RunData data = read_run(folder.path());
  BOOST_TEST(holds_rows(data, 40));
  BOOST_TEST(data.status == "complete");
  BOOST_TEST((data.description.configuration == small_description().configuration));
  BOOST_TEST((data.description.provenance == small_description().provenance));
  BOOST_TEST((data.description.names.parameters == small_description().names.parameters));
  BOOST_REQUIRE(data.result.has_value());
  BOOST_TEST(data.result->test_accuracy == 0.875);
  BOOST_TEST(data.result->parameters_digest == "ab");
}

BOOST_AUTO_TEST_CASE(FILE_9_a_reader_gives_the_segments_that_hold_the_steps_asked_for_and_reads_no_other) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  for (const std::uint64_t last : {4, 8, 9, 12}) {
    append_until(run, last);
    run.close_segment();
  }
  const RunHead head = read_head(folder.path());
  BOOST_REQUIRE(head.segments.size() == 4u);
  put_bytes(folder / head.segments[3].file, "damaged");
  const auto last_steps = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> found;
    RunReader reader(folder.path(), head, from, to);
    while (const RunTable* rows = reader.next()) {
      found.push_back(rows->step.back());
      BOOST_TEST(rows->parameters[2 * rows->row_of(rows->step.back()) + 1] == 10 * rows->step.back() + 1);
    }
    return found;
  };
  using Steps = std::vector<std::uint64_t>;
  BOOST_TEST(last_steps(1, 9) == (Steps{4, 8, 9}), boost::test_tools::per_element());
  BOOST_TEST(last_steps(4, 5) == (Steps{4, 8}), boost::test_tools::per_element());
  BOOST_TEST(last_steps(5, 5) == (Steps{8}), boost::test_tools::per_element());
  BOOST_TEST(last_steps(5, 4).empty());
  RunReader all(folder.path(), head);
  for (int i = 0; i < 3; ++i) all.next();
  refusal("FILE-6", {head.segments[3].file}, [&] { all.next(); });
}

BOOST_AUTO_TEST_CASE(FILE_9_h5py_sees_all_segments_as_one_also_after_the_folder_was_moved) {
  Folder folder;
  RunWriter run = RunWriter::create(folder / "run", small_description());
  put_bytes(folder / "empty.h5", bytes_of(folder / "run/run.h5"));
  for (std::uint64_t last : {7, 10, 35}) {
    append_until(run, last);
    run.close_segment();
  }
  std::filesystem::rename(folder / "run", folder / "moved");
  BOOST_TEST(python(folder, check_run, folder / "moved/run.h5 " + folder / "empty.h5") == 0);
  BOOST_TEST(holds_rows(read_run(folder / "moved"), 35));
}

hid_t opened(const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  BOOST_REQUIRE_MESSAGE(file >= 0, path << " does not open");
  return file;
}

/// The steps that a program sees which knows HDF5 and nothing of ours.
std::vector<std::uint64_t> steps_seen(hid_t file) {
  const hid_t dataset = H5Dopen2(file, "/steps/step", H5P_DEFAULT), space = H5Dget_space(dataset);
  std::vector<std::uint64_t> steps(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  if (!steps.empty()) BOOST_TEST(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, steps.data()) >= 0);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return steps;
}

std::vector<std::uint64_t> steps_seen(const std::string& path) { return steps_seen(opened(path)); }

BOOST_AUTO_TEST_CASE(FILE_9_whoever_opened_the_run_before_a_packing_reads_on) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  auto close_until = [&](std::uint64_t end) {
    for (std::uint64_t last = run.last_step() + 1; last <= end; ++last) {
      append_until(run, last);
      run.close_segment();
    }
  };
  close_until(64);
  BOOST_REQUIRE(run.segments().size() == 64u);
  const hid_t file = opened(folder / "run.h5");
  close_until(100);
  BOOST_REQUIRE(run.segments().size() < 64u);
  std::vector<std::uint64_t> expected(64);
  std::iota(expected.begin(), expected.end(), std::uint64_t{1});
  BOOST_TEST(steps_seen(file) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(FILE_9_the_library_opens_the_run_beside_its_writer_and_sees_every_closed_segment) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  BOOST_TEST(steps_seen(folder / "run.h5").empty());
  std::vector<std::uint64_t> closed;
  for (std::uint64_t last : {3, 4, 12}) {
    append_until(run, last);
    BOOST_TEST(steps_seen(folder / "run.h5") == closed, boost::test_tools::per_element());
    run.close_segment();
    while (closed.size() < last) closed.push_back(closed.size() + 1);
    BOOST_TEST(steps_seen(folder / "run.h5") == closed, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(FILE_9_rows_that_do_not_follow_are_refused) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  append_until(run, 3);
  refusal("FILE-9", {"step 4", "found 3"}, [&] { run.append(row(3)); });
  refusal("FILE-9", {"step 3", "found 4"}, [&] { run.append(ValidationRow{4, 0, 0}); });
  StepRow narrow = row(4);
  narrow.gradients.pop_back();
  refusal("FILE-9", {"gradient digests 2", "found 1"}, [&] { run.append(narrow); });
  run.close_segment();
  BOOST_TEST(holds_rows(read_run(folder.path()), 3));
}

BOOST_AUTO_TEST_CASE(FILE_7_an_existing_run_is_kept) {
  Folder folder;
  std::filesystem::create_directory(folder / "run");
  put_bytes(folder / "run/notes.txt", "mine");
  RunWriter run = RunWriter::create(folder / "run", small_description());
  append_until(run, 5);
  run.close_segment();
  save_checkpoint(checkpoint_path(folder / "run/checkpoints", 5), small_checkpoint(5));
  refusal("FILE-7", {folder / "run"}, [&] { RunWriter::create(folder / "run", small_description()); });
  BOOST_TEST(holds_rows(read_run(folder / "run"), 5));
  std::filesystem::remove(folder / "run/run.h5");  // its checkpoints alone are a run too
  refusal("FILE-7", {folder / "run"}, [&] { RunWriter::create(folder / "run", small_description()); });
}

BOOST_AUTO_TEST_CASE(FILE_1_a_run_is_cut_back_to_any_step_and_goes_on) {
  for (std::uint64_t cut : {0, 1, 9, 10, 11, 12, 13, 29, 30}) {
    Folder folder;
    {
      RunWriter run = RunWriter::create(folder.path(), small_description());
      for (std::uint64_t last : {10, 12, 30}) {
        append_until(run, last);
        run.close_segment();
      }
      run.finish({});
    }
    RunWriter run = RunWriter::reopen(folder.path());
    BOOST_TEST(run.last_step() == 30u);
    run.truncate_to(cut);
    BOOST_TEST(run.last_step() == cut);
    const RunData data = read_run(folder.path());
    BOOST_TEST(holds_rows(data, cut));
    BOOST_TEST(data.status == "running");
    BOOST_TEST(!data.result.has_value());
    append_until(run, 33);
    run.close_segment();
    run.close_segment();
    BOOST_TEST(holds_rows(read_run(folder.path()), 33));
    BOOST_TEST(files_in(folder.path()) == 2 + run.segments().size());
  }
}

BOOST_AUTO_TEST_CASE(FILE_1_a_run_cannot_be_cut_beyond_its_closed_segments) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  append_until(run, 5);
  run.close_segment();
  append_until(run, 8);
  refusal("FILE-9", {"at most 5", "found 6"}, [&] { run.truncate_to(6); });
  run.truncate_to(5);
  BOOST_TEST(run.last_step() == 5u);
}

BOOST_AUTO_TEST_CASE(FILE_3_a_segment_that_is_missing_damaged_or_of_another_run_is_refused_by_name) {
  Folder folder;
  for (const char* name : {"a", "b"}) {
    RunWriter run = RunWriter::create(folder / name, small_description());
    append_until(run, name == std::string("a") ? 10 : 11);
    run.close_segment();
  }
  const std::string path = folder / "a/steps-000001.h5", good = bytes_of(path);
  put_bytes(path, bytes_of(folder / "b/steps-000001.h5"));
  refusal("FILE-3", {path, "as run.h5 lists it"}, [&] { read_run(folder / "a"); });
  std::string bad = good;
  bad[good.size() / 2] ^= 1;
  put_bytes(path, bad);
  refusal("FILE-6", {path, "SHA-256"}, [&] { read_run(folder / "a"); });
  std::filesystem::remove(path);
  refusal("FILE-6", {path, "No such file"}, [&] { read_run(folder / "a"); });
  put_bytes(path, good);
  BOOST_TEST(holds_rows(read_run(folder / "a"), 10));
}

BOOST_AUTO_TEST_CASE(FILE_2_a_full_disk_keeps_the_run_as_it_was_and_the_rows_in_memory) {
  Folder folder;
  const int code = in_child([&] {
    RunWriter run = RunWriter::create(folder.path(), small_description());
    append_until(run, 10);
    run.close_segment();
    append_until(run, 500);
    const rlimit small{30000, RLIM_INFINITY}, unlimited{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &small);
    bool refused = false;
    try {
      run.close_segment();
    } catch (const Error& error) {
      refused = error.id() == "FILE-2";
    }
    if (!refused || !holds_rows(read_run(folder.path()), 10)) return false;
    ::setrlimit(RLIMIT_FSIZE, &unlimited);
    run.close_segment();
    return holds_rows(read_run(folder.path()), 500);
  });
  BOOST_TEST(code == 0);
}

BOOST_AUTO_TEST_CASE(FILE_9_many_small_segments_are_packed_and_run_h5_stays_small) {
  Folder folder;
  RunWriter run = RunWriter::create(folder.path(), small_description());
  std::uintmax_t largest = 0;
  for (std::uint64_t last = 1; last <= 70; ++last) {
    append_until(run, last);
    run.close_segment();
    largest = std::max(largest, std::filesystem::file_size(folder / "run.h5"));
  }
  BOOST_TEST(run.segments().size() < 64u);
  BOOST_TEST(largest < 500000u);
  BOOST_TEST(holds_rows(read_run(folder.path()), 70));
  BOOST_TEST(python(folder, check_run, folder / "run.h5") == 0);
}

/// Starts `action` in a child and kills it after some microseconds.
void kill_within(std::uint64_t microseconds, const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      action();
    } catch (...) {
    }
    ::_exit(0);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
}

BOOST_AUTO_TEST_CASE(FILE_9_a_kill_at_any_moment_leaves_a_run_that_holds_every_closed_segment) {
  Folder folder;
  std::mt19937_64 random(2);
  std::string runs;
  for (int i = 0; i < 8; ++i) {
    const std::string path = folder / std::to_string(i);
    RunWriter::create(path, small_description());
    kill_within(random() % 60000, [&] {
      RunWriter run = RunWriter::reopen(path);
      for (std::uint64_t last = 5;; last += 5) {
        append_until(run, last);
        run.close_segment();
        put_bytes(path + "/closed", std::to_string(last));
      }
    });
    const std::string closed = bytes_of(path + "/closed");
    const RunData data = read_run(path);
    BOOST_TEST(holds_rows(data, data.last_step));
    BOOST_TEST(data.last_step >= (closed.empty() ? 0 : std::stoull(closed)));
    runs += path + "/run.h5 ";
  }
  BOOST_TEST(python(folder, check_run, runs) == 0);
}

BOOST_AUTO_TEST_CASE(FILE_1_a_kill_while_cutting_back_leaves_a_run_that_the_same_resume_can_use) {
  Folder folder;
  std::mt19937_64 random(3);
  for (int i = 0; i < 8; ++i) {
    const std::string path = folder / std::to_string(i);
    {
      RunWriter run = RunWriter::create(path, small_description());
      for (std::uint64_t last : {20, 40, 60, 80}) {
        append_until(run, last);
        run.close_segment();
      }
    }
    kill_within(random() % 20000, [&] { RunWriter::reopen(path).truncate_to(30); });
    const RunData data = read_run(path);
    BOOST_TEST((data.last_step == 80 || data.last_step == 30));
    BOOST_TEST(holds_rows(data, data.last_step));
    RunWriter run = RunWriter::reopen(path);
    run.truncate_to(30);
    append_until(run, 50);
    run.finish({});
    BOOST_TEST(holds_rows(read_run(path), 50));
    BOOST_TEST(files_in(path) == 2 + run.segments().size());
  }
}

BOOST_AUTO_TEST_CASE(FILE_2_a_kill_while_a_checkpoint_is_written_leaves_the_previous_one) {
  Folder folder;
  std::mt19937_64 random(4);
  Checkpoint large = small_checkpoint(1);
  large.parameters.push_back(parameter("large", std::vector<float>(1000000, 1), {1000000}));
  for (int i = 0; i < 8; ++i) {
    const std::string path = folder / std::to_string(i);
    std::filesystem::create_directory(path);
    save_checkpoint(checkpoint_path(path, 1), large);
    kill_within(random() % 60000, [&] {
      for (large.step = 2;; ++large.step) {
        save_checkpoint(checkpoint_path(path, large.step), large);
        retain(path, 1, std::nullopt);
      }
    });
    const LatestCheckpoint latest = latest_checkpoint(path);
    BOOST_REQUIRE(latest.checkpoint.has_value());
    BOOST_TEST(latest.refused.empty());
    BOOST_TEST(latest.checkpoint->parameters.size() == large.parameters.size());
    std::filesystem::remove_all(path);
  }
}

BOOST_AUTO_TEST_CASE(FILE_9_h5py_opens_the_run_at_every_moment_while_it_is_written) {
  Folder folder;
  RunWriter::create(folder / "run", small_description());
  const pid_t child = ::fork();
  if (child == 0) {
    RunWriter run = RunWriter::reopen(folder / "run");
    for (std::uint64_t last = 5;; last += 5) {
      append_until(run, last);
      run.close_segment();
    }
  }
  const int code = python(folder, R"(
import sys, time, h5py, numpy as np
end, times, last = time.time() + 60, 0, 0
while (times < 20 or last < 50) and time.time() < end:
    with h5py.File(sys.argv[1]) as f:
        steps = f['steps/step'][()]
        assert np.array_equal(steps, np.arange(1, f.attrs['last_step'] + 1)) and len(steps) >= last
        times, last = times + 1, len(steps)
assert times >= 20 and last >= 50, (times, last)
)",
                          folder / "run/run.h5");
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  BOOST_TEST(code == 0);
  BOOST_TEST(WTERMSIG(status) == SIGKILL);
}

BOOST_AUTO_TEST_SUITE_END()
