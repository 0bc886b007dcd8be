// What the tests of files share: a folder of their own, bytes of files, child processes, small checkpoints and runs.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_file.hpp"
#include "numerics/digest.hpp"
#include "support/folder.hpp"

namespace assay::files_test {

using test::Folder;

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::size_t files_in(const std::string& folder) {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator(folder), Iterator()));
}

/// The text of the Error that `action` throws, which must have the id and contain each of the pieces.
inline std::string refusal(const std::string& id, const std::vector<std::string>& pieces,
                           const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.what();
    BOOST_TEST(error.id() == id, text);
    for (const std::string& piece : pieces)
      BOOST_TEST(text.find(piece) != std::string::npos, text << " has no " << piece);
    return text;
  }
  BOOST_ERROR("no Error where " + id + " was expected");
  return "";
}

/// Runs `action` in a child process and gives its exit code: 0 when it holds, 1 when it throws, 128 + signal.
inline int in_child(const std::function<bool()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(action() ? 0 : 1);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Runs a Python program (that has h5py); its exit code.
inline int python(const Folder& folder, const std::string& program, const std::string& arguments) {
  put_bytes(folder / "program.py", program);
  return std::system(("cd / && /usr/bin/python3 '" + folder / "program.py" + "' " + arguments).c_str());
}

inline StoredParameter parameter(const std::string& name, const std::vector<float>& values,
                                 std::vector<std::int64_t> shape) {
  return {name, Array::of<float>(values, std::move(shape)), "OI", 3, numerics::digest(values.data(), values.size())};
}

inline Checkpoint small_checkpoint(std::uint64_t step) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.device = "cpu";
  checkpoint.configuration = {"[train]\nsteps = 200\n", {"train.steps=200", "seed=ü"}, "{\"train.steps\":200}"};
  checkpoint.parameters = {parameter("fc2.weight", {1, 2, 3, 4, 5, -0.0f}, {2, 3}), parameter("fc2.bias", {}, {0, 4}),
                           parameter("fc1.scale", {0.1f}, {})};
  checkpoint.optimiser_kind = "adam";
  checkpoint.optimiser_arrays = {{"second_moment.fc2.weight", Array::of(std::vector<float>(6, 0.5f))},
                                 {"first_moment.fc2.weight", Array::of(std::vector<float>(6, 0.25f))}};
  checkpoint.optimiser_scalars = {{"steps", std::uint64_t{step}}, {"beta1_power", 0.1}};
  checkpoint.random_streams = {"shuffle", "dropout"};
  checkpoint.random_draws = {7, 8};
  checkpoint.train = {
      {"seed", std::uint64_t{42}}, {"epoch", std::int64_t{-1}}, {"best", 0.75}, {"note", std::string("é")}};
  return checkpoint;
}

inline RunDescription small_description() {
  return {{"[train]\n", {}, "{}"}, {{"device", "cpu"}, {"compiler", "any"}}, {{"a.weight", "a.bias"}, {"m"}, {}}};
}

inline StepRow row(std::uint64_t step) {
  StepRow row;
  row.step = step;
  row.epoch = step / 100;
  row.loss = 0.5 * static_cast<double>(step);
  row.gradient_norm = 1.5;
  row.learning_rate = 0.1;
  row.loss_digest = 1000 + step;
  row.ids_digest = 2000 + step;
  row.parameters = {10 * step, 10 * step + 1};
  row.gradients = {20 * step, 20 * step + 1};
  row.optimiser = {30 * step};
  row.seconds = 0.01;
  return row;
}

/// Appends the steps up to `last`, a validation after every tenth.
inline void append_until(RunWriter& run, std::uint64_t last) {
  while (run.last_step() < last) {
    const std::uint64_t step = run.last_step() + 1;
    run.append(row(step));
    if (step % 10 == 0) run.append(ValidationRow{step, 0.25 * static_cast<double>(step), 0.5});
  }
}

/// Whether a run holds exactly what `append_until(…, last)` appended.
inline bool holds_rows(const RunData& run, std::uint64_t last) {
  RunTable expected;
  for (std::uint64_t step = 1; step <= last; ++step) {
    expected.append(row(step));
    if (step % 10 == 0) expected.append(ValidationRow{step, 0.25 * static_cast<double>(step), 0.5});
  }
  return run.last_step == last && run.table == expected;
}

}  // namespace assay::files_test
