// Isa: which of the kernel builds runs on this processor.
#pragma once

#include <string>

namespace assay {

enum class Isa { baseline, avx2, avx512 };

/// The widest build that the processor supports, or the one that ASSAY_ISA=baseline|avx2|avx512 forces. All give the
/// same bits. Errors: NUM-2 for an unknown name or instructions that the processor lacks.
Isa isa();

std::string to_string(Isa isa);

/// While one exists, kernels run in that build; it must be one that the processor supports. Not to be made while a
/// kernel runs.
class IsaScope {
 public:
  explicit IsaScope(Isa isa);
  ~IsaScope();
  IsaScope(const IsaScope&) = delete;
  IsaScope& operator=(const IsaScope&) = delete;

 private:
  Isa before_;
};

/// The processor's name as the operating system gives it.
std::string cpu_model();

}  // namespace assay
