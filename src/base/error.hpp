// Error: every refusal of the library, with the id of the contract that it keeps.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace assay {

/// A refused call, file, key or value.
///
/// `what()` reads `ID: operation: expected …, found …`. The id is a row of `reference/contracts/`, for example `REG-3`;
/// the four parts stay apart so that a test or a program can look at each.
///
/// Guarantee: whoever throws it has changed nothing that the caller can see, unless the operation says otherwise.
///
///     throw Error("REG-3", "register_module", "a name of one segment without '.'", "\"a.b\"");
class Error : public std::runtime_error {
 public:
  Error(std::string id, std::string operation, std::string expected, std::string found)
      : std::runtime_error(id + ": " + operation + ": expected " + expected + ", found " + found),
        id_(std::move(id)),
        operation_(std::move(operation)),
        expected_(std::move(expected)),
        found_(std::move(found)) {}

  const std::string& id() const { return id_; }
  const std::string& operation() const { return operation_; }
  const std::string& expected() const { return expected_; }
  const std::string& found() const { return found_; }

 private:
  std::string id_, operation_, expected_, found_;
};

}  // namespace assay
