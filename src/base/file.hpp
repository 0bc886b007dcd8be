// Whole files: read at once, replaced at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// The bytes of a regular file of at most `limit` bytes, in the room of `memory`; nothing is allocated for a larger
/// one. Errors: FILE-6 for the operation `what`, naming cause, size and limit.
///
///     std::vector<std::byte> bytes = read_file("text corpus.txt", "corpus.txt", 1 << 20);
std::vector<std::byte> read_file(const std::string& what, const std::string& path,
                                 std::uint64_t limit = std::numeric_limits<std::uint64_t>::max(),
                                 std::vector<std::byte> memory = {});

/// Writes the pieces, one after the other, as one file: beside `path` as `path + ".partial"`, synced, renamed, folder
/// synced.
///
/// Guarantee: at every moment, SIGKILL included, `path` is the old file or the complete new one. On any error nothing
/// has changed and no partial file is left (SIGKILL may leave one; the next write of the same path removes it).
/// Errors: FILE-2 naming path and cause (full disk, file size limit, folder not writable).
/// The first call makes the process ignore SIGXFSZ, which would kill it where a file size limit is to be an error.
///
///     const std::span<const std::byte> pieces[] = {header, values};
///     write_file("weights.bin", pieces);
void write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);

/// Removes what an interrupted `write_file` left in a folder.
void remove_partial_files(const std::string& folder);

/// Makes the names in a folder durable. Throws FILE-2.
void sync_folder(const std::string& folder);

}  // namespace assay
