// What `assay gradcheck` checks.
#pragma once

#include <vector>

#include "autograd/gradcheck.hpp"

namespace assay {

/// One case at least for every operation, layer and loss, named after it, with small shapes whose extents differ, and
/// values away from kinks.
///
///     for (const GradcheckCase& check : gradcheck_cases(cpu)) gradcheck(check);
std::vector<GradcheckCase> gradcheck_cases(Device device);

}  // namespace assay
