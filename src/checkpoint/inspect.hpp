// Describing any HDF5 file as text: its groups, datasets, shapes, types and attributes.
#pragma once

#include <iosfwd>
#include <string>

namespace assay {

/// Prints the tree of a file: one line per object, two spaces deeper per level, its attributes behind it.
///
/// A sealed file is checked, then read here. Any other is read in a child process with limits on processor time (5 s),
/// memory (1 GiB), output (4 MiB) and elapsed time (10 s), because libhdf5 crashes or hangs on some malformed files.
/// Errors: FILE-6 naming the path: damaged, not HDF5, or the child crashed or met a limit. Prints all or nothing.
///
///     describe("runs/0001/run.h5", std::cout);
void describe(const std::string& path, std::ostream& out);

}  // namespace assay
