// Profile: whether kernels keep the promised bits or may be anybody's.
#pragma once

#include <string>

namespace assay {

/// `exact` has the bits of reference/numerics.md. In `fast` the cpu device leaves matrix products to Eigen and exp,
/// log, tanh, sigmoid and erf to libm, wherever an operation uses them; their bits may change with the processor, the
/// number of threads and the versions of both libraries. On cuda it leaves matrix products to cuBLAS. All else is the
/// same.
enum class Profile { exact, fast };

/// The profile of all kernels of this process, on whatever thread they are called; `exact` until `set_profile`.
Profile profile();

/// Not to be called while a kernel runs.
///
///     set_profile(Profile::fast);
void set_profile(Profile profile);

/// Whether matrix products of `fast` on cuda may round their operands to TF32, 10 bits of mantissa; false until
/// `set_tf32`.
bool tf32();
void set_tf32(bool allowed);

/// "exact" or "fast".
std::string to_string(Profile profile);

/// The profile of that name. Errors: RUN-1 for any other.
///
///     parse_profile("fast");  // Profile::fast
Profile parse_profile(const std::string& name);

/// While one exists, kernels run in that profile; then in the one before, also when an exception ends it.
///
///     ProfileScope fast(Profile::fast);
///     Variable y = matmul(x, w);
class ProfileScope {
 public:
  explicit ProfileScope(Profile profile) : before_(assay::profile()) { set_profile(profile); }
  ~ProfileScope() { set_profile(before_); }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile before_;
};

}  // namespace assay
