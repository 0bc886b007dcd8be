// The run folder: run.h5, its closed segments of steps, and reading all of it back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/run_table.hpp"
#include "checkpoint/sealed_file.hpp"

namespace assay {

/// What is known when a run starts.
struct RunDescription {
  ConfigurationText configuration;
  std::map<std::string, std::string> provenance;
  RunNames names;
};

struct RunResult {
  std::uint64_t steps = 0;
  double test_loss = 0;
  double test_accuracy = 0;
  std::string parameters_digest;  ///< SHA-256 of the set (N9), hexadecimal
  double seconds = 0;
};

/// A closed segment as run.h5 lists it.
struct RunSegment {
  std::string file;             ///< "steps-000001.h5"
  std::uint64_t last_step = 0;  ///< of its rows; that of the segment before when it has no row of steps
  std::uint64_t steps = 0;      ///< rows of /steps and /timing
  std::uint64_t validations = 0;
  std::string sha256;
};

/// Writes a run folder: rows are held in memory until `close_segment`, and nothing is held open in between.
///
/// Guarantee (FILE-9): at every moment, SIGKILL included, run.h5 is complete, lists only segments that are complete,
/// and presents all of their rows as one; rows that were appended and not yet closed are lost by a kill, nothing else
/// is. The cost of closing a segment does not grow with the run: few large segments replace many small ones in time.
/// Errors: FILE-7 (the folder holds a run), FILE-2 (cannot be written; run.h5 is as before and the rows are still
/// held), FILE-3 and FILE-6 (a file of the folder is damaged).
///
///     auto run = RunWriter::create("runs/0001", description);
///     run.append(row);            // once per step
///     run.close_segment();        // at every checkpoint, before the checkpoint is written
///     run.finish(result);
class RunWriter {
 public:
  /// A new run. Errors: FILE-7 when the folder holds one.
  static RunWriter create(const std::string& folder, RunDescription description);
  /// Goes on with the run of the folder; what an interrupted writer left behind is removed.
  static RunWriter reopen(const std::string& folder);

  /// The row of the step after `last_step()`. Throws FILE-9 on another step or on a wrong number of digests.
  void append(const StepRow& row);
  /// A validation after `last_step()`, before the segment of that step is closed. Throws FILE-9 on another step.
  void append(const ValidationRow& row);
  /// Writes the rows held as a segment, then run.h5 with status "running".
  void close_segment();
  /// As `close_segment`, with status "interrupted": stopped on purpose, to be resumed.
  void interrupt();
  /// As `close_segment`, with status "complete" and the result.
  void finish(const RunResult& result);
  /// Cuts the run back to `step` for a resume; status "running". Killed at any point, the same call works again.
  /// Rows that are held are dropped. Throws FILE-9 when the closed segments end before `step`.
  void truncate_to(std::uint64_t step);

  /// The last step of closed segments and held rows; 0 before the first.
  std::uint64_t last_step() const;
  const RunDescription& description() const { return description_; }
  const std::vector<RunSegment>& segments() const { return segments_; }

 private:
  RunWriter(std::string folder, RunDescription description, std::vector<RunSegment> segments);

  RunSegment write_segment(const RunTable& rows, std::uint64_t last_step_before);
  std::vector<RunSegment> pack();
  void publish(std::vector<RunSegment> segments, const std::string& status, const RunResult* result);
  void close(const std::string& status, const RunResult* result);
  void remove_unlisted(const std::vector<RunSegment>& also_kept) const;

  std::string folder_;
  RunDescription description_;
  std::vector<RunSegment> segments_;
  std::vector<RunSegment> replaced_;  // by the last packing
  RunTable rows_;
  std::uint64_t next_number_ = 1;
};

/// A run folder but for its rows.
struct RunHead {
  RunDescription description;
  std::string status;  ///< "running", "complete" or "interrupted"
  std::uint64_t numerics_version = 0;
  std::uint64_t last_step = 0;
  std::vector<RunSegment> segments;
  std::optional<RunResult> result;
};

/// Reads run.h5. Errors: FILE-6 (a damaged file), FILE-3 (a wrong version, a missing or misshapen dataset), each naming
/// the path, expected and found.
RunHead read_head(const std::string& folder);

/// The rows of a run, a segment at a time: those that hold the steps `from` … `to`. The next one is read and checked in
/// a thread while one is used, and all use the same memory.
///
///     const RunHead head = read_head("runs/0001");
///     RunReader reader("runs/0001", head);
///     while (const RunTable* rows = reader.next()) std::cout << rows->loss.back();
class RunReader {
 public:
  RunReader(const std::string& folder, const RunHead& head, std::uint64_t from = 0, std::uint64_t to = ~0ull);
  /// The rows of the next segment, until the next call; null behind the last one. Errors: those of `read_head`, and
  /// FILE-3 for a segment that is not the one that run.h5 lists.
  const RunTable* next();

 private:
  RunNames names_;
  std::vector<RunSegment> segments_;
  std::size_t next_ = 0;
  SealedFilesInTurn files_;
  RunTable rows_;
};

/// All of a run folder, checked.
struct RunData : RunHead {
  RunTable table;
};

/// Reads run.h5 and every segment that it lists. Errors: those of `RunReader`.
///
///     RunData run = read_run("runs/0001");
///     double last_loss = run.table.loss.back();
RunData read_run(const std::string& folder);

/// Whether the folder holds a run.
bool holds_run(const std::string& folder);

}  // namespace assay
