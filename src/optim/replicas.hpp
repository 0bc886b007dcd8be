// Replicas: the values of one parameter list in another.
#pragma once

#include "autograd/parameter.hpp"

namespace assay {

/// Gives each parameter of `to` the value that `from` has under its name, whatever the order of the two lists and the
/// devices they are on: afterwards their values are equal bit for bit. All values are prepared, then installed: on any
/// error nothing has changed. Gradients of `to` are dropped and graphs built on it before are refused.
///
/// Errors: OPT-1 as `require_valid`; REPL-1 naming a parameter that only one list has, or one of another type or shape.
///
///     copy_parameters(model.parameters(), replica.parameters());
void copy_parameters(const ParameterList& from, const ParameterList& to);

}  // namespace assay
