// Initial values moved by one ULP: a run that is the same but for rounding, for null bands.
#pragma once

#include "autograd/parameter.hpp"
#include "harness/configuration.hpp"

namespace assay {

/// Moves the parameter that `model.perturbed` names, or with "all" every one, by one ULP in each element: to the next
/// float32 above or below, as element n of draw 0 of the stream "perturbation.NAME" says. A zero has neighbours like
/// any other value (`ulp_distance`): the smallest number above +0 and below −0, and the other zero between them. So one
/// element moves by exactly one ULP, whatever else is perturbed.
///
/// To be called while the parameters are float32 on the host, so that every device starts from the same values.
/// Errors: RUN-1 for a name that no parameter has, with the nearest one.
///
///     perturb(model.parameters(), parse_configuration("model.perturbed = 'fc1.weight'", "example"));
void perturb(const ParameterList& parameters, const Configuration& configuration);

}  // namespace assay
