// What every call of the HDF5 library goes through; for hdf5.cpp and hdf5_file.cpp only.
#pragma once

#include <cstdint>
#include <string>

namespace assay::hdf5 {

/// `result` unless it is negative; then FILE-3 with the object and the innermost message of the library.
std::int64_t check(std::int64_t result, const std::string& object, const char* doing);

/// Stops the library from printing errors by itself, for the calling thread.
void silence();

}  // namespace assay::hdf5
