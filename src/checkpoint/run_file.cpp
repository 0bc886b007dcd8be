// Writing, cutting and reading run folders.
#include "checkpoint/run_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sabotage.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/sealed_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* run_format = "assay-run";
constexpr const char* segment_format = "assay-steps";
constexpr std::uint64_t run_version = 1;

// A virtual dataset keeps every file of its parts open while it is read, a process has 1,024 descriptors by default,
// and run.h5 is written anew for each segment: at so many small ones they are packed into large ones.
constexpr std::size_t small_segments = 64;
constexpr std::size_t packed_bytes = std::size_t{64} << 20;

std::string run_path(const std::string& folder) { return folder + "/run.h5"; }

std::string segment_name(std::uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "steps-%06llu.h5", static_cast<unsigned long long>(number));
  return name;
}

/// The number in "steps-NNNNNN.h5"; 0 for any other name.
std::uint64_t segment_number(const std::string& name) {
  unsigned long long number = 0;
  return std::sscanf(name.c_str(), "steps-%12llu", &number) == 1 && segment_name(number) == name ? number : 0;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) files.push_back(entry.path());
  return files;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error("FILE-2", "create " + folder.string(), "a folder that can be created", error.message());
}

std::uint64_t last_of(const std::vector<RunSegment>& segments) {
  return segments.empty() ? 0 : segments.back().last_step;
}

std::size_t row_bytes(const RunNames& names) {
  return 8 * (9 + 2 * names.parameters.size() + names.optimiser.size() + names.masks.size() + names.trace.size());
}

/// Puts the rows of a segment in the place of those in `rows`.
void read_rows(RunTable& rows, const SealedBytes& file, const RunSegment& segment, const RunNames& names) {
  const SealedFile opened = open_format(file, segment_format, run_version);
  if (file.sha256 != segment.sha256)
    throw Error("FILE-3", "open " + file.path, "SHA-256 " + segment.sha256 + " as run.h5 lists it", file.sha256);
  for_each_column(rows, names, [&](const RunColumn& column, auto& values) {
    const hdf5::Group group = opened.root.group(column.group);
    if (column.name == "trace" && column.width == 0 && !group.contains("trace")) return;  // files older than traces
    group.read_into(values, column.name, column.shape(column.of_validation() ? segment.validations : segment.steps));
  });
  for (std::size_t i = 0; i < rows.steps(); ++i)
    if (const std::uint64_t step = segment.last_step - segment.steps + 1 + i; rows.step[i] != step)
      throw Error("FILE-3", "read " + file.path + ": /steps/step",
                  "step " + std::to_string(step) + " in row " + std::to_string(i), std::to_string(rows.step[i]));
}

RunTable read_segment(const std::string& folder, const RunSegment& segment, const RunNames& names) {
  RunTable rows;
  read_rows(rows, read_sealed(folder + "/" + segment.file), segment, names);
  return rows;
}

/// Those that hold a step of `from` … `to`; of a whole run all, also one that holds a validation only.
std::vector<RunSegment> segments_of(const RunHead& head, std::uint64_t from, std::uint64_t to) {
  std::vector<RunSegment> found;
  for (const RunSegment& segment : head.segments)
    if (from <= to && from <= segment.last_step && segment.last_step - segment.steps < to) found.push_back(segment);
  return found;
}

std::vector<std::string> paths_of(const std::string& folder, const std::vector<RunSegment>& segments) {
  std::vector<std::string> paths;
  for (const RunSegment& segment : segments) paths.push_back(folder + "/" + segment.file);
  return paths;
}

std::vector<RunSegment> read_segments(const std::string& path, const hdf5::Group& group) {
  auto files = group.read_strings("file"), digests = group.read_strings("sha256");
  auto last_steps = group.read("last_step").values<std::uint64_t>();
  auto steps = group.read("steps").values<std::uint64_t>();
  auto validations = group.read("validations").values<std::uint64_t>();
  std::vector<RunSegment> segments;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (digests.size() != files.size() || last_steps.size() != files.size() || steps.size() != files.size() ||
        validations.size() != files.size())
      throw Error("FILE-3", "read " + path + ": /segments", "columns of one length", "different lengths");
    if (segment_number(files[i]) == 0)
      throw Error("FILE-3", "read " + path + ": /segments/file", "names like steps-000001.h5", "\"" + files[i] + "\"");
    if (last_steps[i] - last_of(segments) != steps[i])
      throw Error("FILE-3", "read " + path + ": /segments/steps",
                  std::to_string(last_steps[i] - last_of(segments)) + " rows in " + files[i], std::to_string(steps[i]));
    segments.push_back({files[i], last_steps[i], steps[i], validations[i], digests[i]});
  }
  return segments;
}

void write_segments(hdf5::Group& root, const std::vector<RunSegment>& segments) {
  std::vector<std::string> files, digests;
  std::vector<std::uint64_t> last_steps, steps, validations;
  for (const RunSegment& segment : segments) {
    files.push_back(segment.file);
    digests.push_back(segment.sha256);
    last_steps.push_back(segment.last_step);
    steps.push_back(segment.steps);
    validations.push_back(segment.validations);
  }
  hdf5::Group group = root.create_group("segments");
  group.write_strings("file", files);
  group.write("last_step", Array::of(last_steps));
  group.write("steps", Array::of(steps));
  group.write("validations", Array::of(validations));
  group.write_strings("sha256", digests);
}

/// /steps, /timing and /validation over all segments.
void write_views(hdf5::Group& root, const RunNames& names, const std::vector<RunSegment>& segments) {
  std::vector<hdf5::VirtualPart> steps, validations;
  std::uint64_t step_rows = 0, validation_rows = 0;
  for (const RunSegment& segment : segments) {
    steps.push_back({segment.file, segment.steps});
    validations.push_back({segment.file, segment.validations});
    step_rows += segment.steps;
    validation_rows += segment.validations;
  }
  RunTable types;
  for_each_column(types, names, [&]<class T>(const RunColumn& column, std::vector<T>&) {
    hdf5::Group group = root.contains(column.group) ? root.group(column.group) : root.create_group(column.group);
    group.write_virtual(column.name, element_type<T>(),
                        column.shape(column.of_validation() ? validation_rows : step_rows),
                        "/" + column.group + "/" + column.name, column.of_validation() ? validations : steps);
  });
}

}  // namespace

bool holds_run(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(run_path(folder), ignored)) return true;
  return !checkpoint_files(folder + "/checkpoints").empty();
}

RunWriter::RunWriter(std::string folder, RunDescription description, std::vector<RunSegment> segments)
    : folder_(std::move(folder)), description_(std::move(description)), segments_(std::move(segments)) {
  for (const RunSegment& segment : segments_) next_number_ = std::max(next_number_, segment_number(segment.file) + 1);
}

RunWriter RunWriter::create(const std::string& folder, RunDescription description) {
  if (holds_run(folder) && !sabotaged("runs_are_overwritten"))
    throw Error("FILE-7", "create a run in " + folder, "a folder without a run", "a run");
  make_folder(folder + "/checkpoints");
  RunWriter writer(folder, std::move(description), {});
  writer.publish({}, "running", nullptr);
  writer.remove_unlisted({});
  sync_folder(fs::absolute(folder).parent_path().string());
  return writer;
}

RunWriter RunWriter::reopen(const std::string& folder) {
  RunHead head = read_head(folder);
  RunWriter writer(folder, std::move(head.description), std::move(head.segments));
  remove_partial_files(folder);
  writer.remove_unlisted({});
  return writer;
}

std::uint64_t RunWriter::last_step() const { return rows_.steps() ? rows_.step.back() : last_of(segments_); }

void RunWriter::append(const StepRow& row) {
  const RunNames& names = description_.names;
  auto require = [&](const char* what, std::uint64_t expected, std::uint64_t found) {
    if (expected != found)
      throw Error("FILE-9", "append to " + run_path(folder_), what + (" " + std::to_string(expected)),
                  std::to_string(found));
  };
  require("step", last_step() + 1, row.step);
  require("number of parameter digests", names.parameters.size(), row.parameters.size());
  require("number of gradient digests", names.parameters.size(), row.gradients.size());
  require("number of optimiser digests", names.optimiser.size(), row.optimiser.size());
  require("number of mask digests", names.masks.size(), row.masks.size());
  if (last_step() == 0) description_.names.trace = row.trace_names;
  require("number of trace digests", names.trace.size(), row.trace.size());
  for (std::size_t i = 0; i < names.trace.size(); ++i)
    if (names.trace[i] != row.trace_names[i])
      throw Error("FILE-9", "append step " + std::to_string(row.step) + " to " + run_path(folder_),
                  names.trace[i] + " as result " + std::to_string(i) + " of the trace, as at every step",
                  row.trace_names[i]);
  rows_.append(row);
}

void RunWriter::append(const ValidationRow& row) {
  if (row.step != last_step())
    throw Error("FILE-9", "append a validation to " + run_path(folder_), "step " + std::to_string(last_step()),
                std::to_string(row.step));
  rows_.append(row);
}

void RunWriter::close_segment() { close("running", nullptr); }
void RunWriter::interrupt() { close("interrupted", nullptr); }
void RunWriter::finish(const RunResult& result) {
  close("complete", &result);
  remove_unlisted({});
}

void RunWriter::close(const std::string& status, const RunResult* result) {
  std::vector<RunSegment> segments = result ? segments_ : pack();  // the end removes what a packing has replaced
  if (rows_.steps() + rows_.validations() > 0 && !sabotaged("closed_segments_are_not_listed"))
    segments.push_back(write_segment(rows_, last_of(segments)));
  publish(std::move(segments), status, result);
  rows_ = {};
}

RunSegment RunWriter::write_segment(const RunTable& rows, std::uint64_t last_step_before) {
  RunSegment segment{segment_name(next_number_), rows.steps() ? rows.step.back() : last_step_before, rows.steps(),
                     rows.validations(), ""};
  segment.sha256 = write_sealed(folder_ + "/" + segment.file, [&](hdf5::Group& root) {
    write_format(root, segment_format, run_version);
    for_each_column(rows, description_.names, [&]<class T>(const RunColumn& column, const std::vector<T>& values) {
      hdf5::Group group = root.contains(column.group) ? root.group(column.group) : root.create_group(column.group);
      group.write(column.name, Array::of(std::span<const T>(values),
                                         column.shape(column.of_validation() ? rows.validations() : rows.steps())));
    });
  });
  ++next_number_;
  return segment;
}

std::vector<RunSegment> RunWriter::pack() {
  const std::size_t rows_at_most = packed_bytes / row_bytes(description_.names);
  auto rows = [](const RunSegment& segment) { return segment.steps + segment.validations; };
  auto is_small = [&](const RunSegment& segment) { return rows(segment) < rows_at_most / 2; };
  if (std::count_if(segments_.begin(), segments_.end(), is_small) < static_cast<std::ptrdiff_t>(small_segments))
    return segments_;
  if (!sabotaged("packing_ends_readers")) replaced_ = segments_;
  std::vector<RunSegment> packed;
  for (std::size_t first = 0, end = 0; first < segments_.size(); first = end) {
    std::size_t count = 0;
    while (end < segments_.size() && (end == first || count + rows(segments_[end]) <= rows_at_most))
      count += rows(segments_[end++]);
    if (end == first + 1) {
      packed.push_back(segments_[first]);
      continue;
    }
    RunTable table;
    for (std::size_t i = first; i < end; ++i) table.append(read_segment(folder_, segments_[i], description_.names));
    packed.push_back(write_segment(table, last_of(packed)));
  }
  return packed;
}

void RunWriter::publish(std::vector<RunSegment> segments, const std::string& status, const RunResult* result) {
  write_sealed(run_path(folder_), [&](hdf5::Group& root) {
    write_format(root, run_format, run_version);
    root.set("status", status);
    root.set("last_step", last_of(segments));
    write_configuration(root, description_.configuration);
    hdf5::Group provenance = root.create_group("provenance");
    for (const auto& [name, value] : description_.provenance) provenance.set(name, value);
    hdf5::Group names = root.create_group("names");
    names.write_strings("parameters", description_.names.parameters);
    names.write_strings("optimiser", description_.names.optimiser);
    names.write_strings("masks", description_.names.masks);
    names.write_strings("trace", description_.names.trace);
    write_views(root, description_.names, segments);
    write_segments(root, segments);
    if (!result) return;
    hdf5::Group group = root.create_group("result");
    group.set("steps", result->steps);
    group.set("test_loss", result->test_loss);
    group.set("test_accuracy", result->test_accuracy);
    group.set("parameters_digest", result->parameters_digest);
    group.set("seconds", result->seconds);
  });
  std::swap(segments_, segments);
  // Whoever opened the run.h5 before this one, or one from before the last packing, still finds its segments.
  segments.insert(segments.end(), replaced_.begin(), replaced_.end());
  remove_unlisted(segments);
}

void RunWriter::truncate_to(std::uint64_t step) {
  if (step > last_of(segments_))
    throw Error("FILE-9", "cut " + run_path(folder_),
                "a step that closed segments hold, at most " + std::to_string(last_of(segments_)),
                std::to_string(step));
  // The cut segment gets a new name: run.h5 and what it lists agree at every moment, so a kill costs nothing.
  std::vector<RunSegment> kept;
  for (const RunSegment& segment : segments_) {
    if (segment.last_step <= step) {
      kept.push_back(segment);
    } else if (last_of(kept) < step) {
      RunTable table = read_segment(folder_, segment, description_.names);
      table.cut(description_.names, step);
      kept.push_back(write_segment(table, last_of(kept)));
    }
  }
  publish(sabotaged("later_steps_stay") ? segments_ : std::move(kept), "running", nullptr);
  rows_ = {};
}

void RunWriter::remove_unlisted(const std::vector<RunSegment>& also_kept) const {
  std::set<std::string> listed;
  for (const RunSegment& segment : segments_) listed.insert(segment.file);
  for (const RunSegment& segment : also_kept) listed.insert(segment.file);
  std::error_code ignored;
  for (const fs::path& file : files_in(folder_)) {
    const std::string name = file.filename().string();
    if (segment_number(name) != 0 && listed.count(name) == 0) fs::remove(file, ignored);
  }
}

RunHead read_head(const std::string& folder) {
  const std::string path = run_path(folder);
  const hdf5::Group root = open_format(path, run_format, run_version).root;
  RunHead head;
  head.numerics_version = root.get_count("numerics_version");
  head.status = root.get_string("status");
  head.last_step = root.get_count("last_step");
  head.description.configuration = read_configuration(root);
  hdf5::Group provenance = root.group("provenance"), names = root.group("names");
  for (const std::string& name : provenance.attributes())
    head.description.provenance[name] = provenance.get_string(name);
  head.description.names = {names.read_strings("parameters"), names.read_strings("optimiser"),
                            names.read_strings("masks"),
                            names.contains("trace") ? names.read_strings("trace") : std::vector<std::string>{}};
  head.segments = read_segments(path, root.group("segments"));
  if (last_of(head.segments) != head.last_step)
    throw Error("FILE-3", "read " + path + ": /@last_step", std::to_string(last_of(head.segments)),
                std::to_string(head.last_step));
  if (root.contains("result")) {
    hdf5::Group result = root.group("result");
    head.result =
        RunResult{result.get_count("steps"), result.get_double("test_loss"), result.get_double("test_accuracy"),
                  result.get_string("parameters_digest"), result.get_double("seconds")};
  }
  return head;
}

RunReader::RunReader(const std::string& folder, const RunHead& head, std::uint64_t from, std::uint64_t to)
    : names_(head.description.names), segments_(segments_of(head, from, to)), files_(paths_of(folder, segments_)) {}

const RunTable* RunReader::next() {
  if (next_ == segments_.size()) return nullptr;
  read_rows(rows_, files_.next(), segments_[next_], names_);
  ++next_;
  return &rows_;
}

RunData read_run(const std::string& folder) {
  RunData run{read_head(folder), {}};
  RunReader reader(folder, run);
  while (const RunTable* rows = reader.next()) run.table.append(*rows);
  return run;
}

}  // namespace assay
