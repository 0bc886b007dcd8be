// Text as samples of tokens: any file, and the King James Bible as Debian packages it.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace assay {

/// Most bytes of one text.
inline constexpr std::int64_t text_limit = std::int64_t{1} << 28;

struct Text {
  std::string bytes;
  DataDigest digest;  ///< of `bytes`
};

/// The bytes of a file as they are. The digest has its name without folders. Errors: FILE-6 naming the file.
Text read_text(const std::string& path);

/// The 31,102 verses of the King James Bible (public domain), a line each, without the reference ("Ge1:1 ") that the
/// program `bible` prints before each; its file of data is that of the package, wherever the command is started. The
/// digest is named "bible-kjv".
/// Errors: RUN-3 naming Debian's package when the program is missing, fails or prints anything else.
Text read_bible_kjv();

/// Cuts a text by position: sample i has the tokens [iC, (i+1)C) with the bytes [iC+1, (i+1)C+1) as labels, so an epoch
/// reads every byte once. The last `test` samples are the test set; what does not fill a sample at the end of the text
/// is left out.
/// Errors: RUN-3 when `context` is below 1, when the text is too short, or when `test` leaves no sample on either side.
///
///     TrainAndTest sets = cut_text(read_bible_kjv(), 64, 1000);  // 63,653 samples and 1,000
TrainAndTest cut_text(const Text& text, std::int64_t context, std::int64_t test);

}  // namespace assay
