// PassScope: values that live for one pass.
#pragma once

#include <string>

namespace assay {

/// One training or evaluation step: what this thread allocates while it exists lives until the thread's next pass
/// begins, which frees all of it at once. An inner scope belongs to the outer one and frees nothing.
///
/// What was made before any pass, and parameters, optimiser state and gradients wherever they are made, stay. A value
/// that is to outlive its pass is promoted by `Tensor::keep`; an escaped one is refused at its first use with the name
/// of its pass (RES-8).
///
///     for (int step = 0; step < 100; ++step) {
///       PassScope pass("step " + std::to_string(step));
///       loss_of(model, batch).backward();
///       optimiser.step(0.001);
///     }
class PassScope {
 public:
  explicit PassScope(std::string name = "a pass without a name");
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;
};

}  // namespace assay
