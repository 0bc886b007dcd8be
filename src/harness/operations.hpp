// Operations by name: what a file that records operations may ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

/// Attributes of a call: a truth, a whole number, a number or a list of whole numbers under each name.
using Attribute = std::variant<bool, std::int64_t, double, std::vector<std::int64_t>>;
using Attributes = std::map<std::string, Attribute>;

/// One operation of autograd/ops.hpp applied to values that have names.
struct OperationCall {
  std::string operation;  ///< a name of `operation_names`
  std::vector<std::string> inputs;
  Attributes attributes;
  std::string output;  ///< the name of the result
};

/// Names of all operations, sorted.
std::vector<std::string> operation_names();

/// Whether the call can be made, as far as can be seen without its inputs. Errors: FILE-3 naming `where` for an
/// operation that does not exist, another number of inputs, an attribute that is unknown, missing or of another kind.
///
///     require_call("golden.h5: /records/sum", {"sum", {"x"}, {{"axes", std::vector<std::int64_t>{0}}}, "y"});
void require_call(const std::string& where, const OperationCall& call);

/// The result of a call that `require_call` accepts, on its inputs in order; an absent attribute has the default of the
/// operation. Errors: those of the operation.
///
///     apply_operation({"maximum", {"x"}, {{"axis", std::int64_t{-1}}}, "y"}, {x});  // maximum(x, -1)
Variable apply_operation(const OperationCall& call, const std::vector<Variable>& inputs);

}  // namespace assay
