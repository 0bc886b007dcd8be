// Golden files: recorded operations with the results that they must have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/array.hpp"
#include "compare/policy.hpp"
#include "device/device.hpp"
#include "harness/operations.hpp"

namespace assay {

/// One test: calls in order, each on inputs or earlier results.
struct GoldenRecord {
  std::string name;
  std::string operation;    ///< the row of the table in which it counts; need not be one of ours
  std::string unsupported;  ///< why it cannot be run, in words; empty when it can
  std::vector<OperationCall> calls;
  std::vector<NamedArray> inputs;    ///< float32, int32 or uint8
  std::vector<NamedArray> expected;  ///< float32, each the result of the call with that output
  Policy tolerance;
};

struct GoldenFile {
  std::string source;  ///< what wrote the file, in words
  std::vector<GoldenRecord> records;
};

/// Reads and checks a whole file (reference/formats/golden.md). Errors: FILE-6 for a damaged file, FILE-3 naming file,
/// record and place for anything that it asks for and that is not there: an operation, an attribute, an input.
///
///     for (const GoldenRecord& record : read_golden("golden.h5").records) run_record(record, simulated);
GoldenFile read_golden(const std::string& path);

struct GoldenResult {
  enum class Verdict { passed, failed, unsupported };
  /// The first element that the tolerance does not accept.
  struct Difference {
    std::string output, index;  ///< "y", "[3, 17]"
    double expected = 0, found = 0;
    std::uint64_t ulp = 0;  ///< of float32
  };

  Verdict verdict = Verdict::passed;
  std::string reason;  ///< why it is unsupported, or failed without a difference: another shape, an operation's refusal
  std::optional<Difference> difference;
};

/// Runs the calls of a record on a device and compares with the expected results under the record's tolerance. On the
/// reference device results are rounded once to float32. An operation that refuses its inputs has failed.
///
/// Errors: those of the device, such as XFER-8.
GoldenResult run_record(const GoldenRecord& record, Device device);

}  // namespace assay
