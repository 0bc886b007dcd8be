// Reading of texts, and their way to samples.
#include "data/text.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "data/byte_tokeniser.hpp"

namespace assay {
namespace {

DataDigest digest_of(std::string name, const std::string& bytes) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return {std::move(name), to_hex(hash.finish())};
}

[[noreturn]] void refuse_bible(std::string found) {
  throw Error("RUN-3", "data.kind \"bible_kjv\"",
              "all verses from the program bible (apt-get install bible-kjv brings it)", std::move(found));
}

/// What `bible` prints. Without -p it would take a bible.data of the current folder first.
std::string printed_bible() {
  constexpr std::size_t limit = 1 << 24;
  std::FILE* output = ::popen("exec bible -p /usr/lib -f gen1:1-rev22:21 2>/dev/null </dev/null", "re");
  if (!output) refuse_bible(std::strerror(errno));
  std::string printed(limit, 0);
  printed.resize(std::fread(printed.data(), 1, limit, output));
  const int status = ::pclose(output);  // it has ended of a broken pipe when it had more to say
  if (WIFSIGNALED(status)) refuse_bible("its end by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) refuse_bible("no such program");
  if (status != 0) refuse_bible("exit status " + std::to_string(WEXITSTATUS(status)));
  return printed;
}

}  // namespace

Text read_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_file("data.path: text file " + path, path, text_limit);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  DataDigest digest = digest_of(std::filesystem::path(path).filename().string(), text);
  return {std::move(text), std::move(digest)};
}

Text read_bible_kjv() {
  constexpr std::int64_t verses_of_all_books = 31102;
  const std::string printed = printed_bible();
  std::string text;
  std::int64_t verses = 0;
  for (std::size_t begin = 0, end; (end = printed.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(printed).substr(begin, end - begin);
    const std::size_t space = line.find(' ');  // a reference has none
    if (space == std::string_view::npos || line.substr(0, space).find(':') == std::string_view::npos)
      refuse_bible("a line without a reference, \"" + std::string(line.substr(0, 40)) + "\"");
    text += line.substr(space + 1);
    text += '\n';
    ++verses;
  }
  if (verses != verses_of_all_books) refuse_bible(std::to_string(verses) + " verses");
  DataDigest digest = digest_of("bible-kjv", text);
  return {std::move(text), std::move(digest)};
}

TrainAndTest cut_text(const Text& text, std::int64_t context, std::int64_t test) {
  const auto size = static_cast<std::int64_t>(text.bytes.size());
  if (context < 1) throw Error("RUN-3", "data.context", "at least 1 byte", std::to_string(context));
  const std::int64_t count = (size - 1) / context;
  if (count < 2)
    throw Error("RUN-3", "text " + text.digest.file,
                "two samples or more of " + std::to_string(context) + " bytes (data.context) and a byte after them",
                std::to_string(size) + " bytes");
  if (test < 1 || test >= count)
    throw Error("RUN-3", "data.test", "from 1 to " + std::to_string(count - 1) + " samples of " + text.digest.file,
                std::to_string(test));

  Dataset all;
  all.name = "train";
  all.count = count;
  all.features = all.labels_per_sample = context;
  all.classes = byte_vocabulary;
  all.sample_shape = {context};
  const std::string_view bytes = text.bytes;
  const auto used = static_cast<std::size_t>(count * context);
  all.tokens = encode_bytes(bytes.substr(0, used));
  all.labels = encode_bytes(bytes.substr(1, used));
  all.digests = {text.digest};
  check(all);
  TrainAndTest sets = {slice(all, 0, count - test), slice(all, count - test, test)};
  sets.test.name = "test";
  return sets;
}

}  // namespace assay
