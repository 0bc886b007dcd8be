// Checks elementary functions on all 2³² binary32 inputs against the correctly rounded value; on demand, minutes each.
//
//     exhaustive_elementary                              all functions
//     exhaustive_elementary exp cos                      these
//     exhaustive_elementary --write FILE exp             and replaces their rows in the table of a Markdown file
//
// ASSAY_THREADS threads share the inputs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "device/cpu/thread_pool.hpp"
#include "numerics/digest.hpp"
#include "support/correct_rounding.hpp"

namespace assay::test {
namespace {

constexpr std::int64_t batch = 1 << 14, batches = (std::int64_t{1} << 32) / batch;

struct Result {
  std::uint64_t decided_by_mpfr = 0, wrong = 0, digest = 0;
  double seconds = 0;
};

Result check(const ElementaryFunction& function) {
  const auto begin = std::chrono::steady_clock::now();
  Result all;
  std::mutex mutex;
  std::atomic<std::int64_t> done = 0;
  parallel_for(batches, 1, [&](std::int64_t first, std::int64_t last) {
    Result mine;
    std::vector<float> y(batch);
    for (std::int64_t b = first; b < last; ++b) {
      const auto start = static_cast<std::uint64_t>(b * batch);
      for (std::uint64_t i = 0; i < batch; ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(start + i));
        y[i] = function.ours(x);
        const float expected = correctly_rounded(function, x, &mine.decided_by_mpfr);
        if (numerics::canonical_bits(y[i]) != numerics::canonical_bits(expected) && ++mine.wrong <= 20)
          std::printf("%s(%a): expected %a, found %a\n", function.name, static_cast<double>(x),
                      static_cast<double>(expected), static_cast<double>(y[i]));
      }
      mine.digest += numerics::digest(y.data(), batch, start);
      if (const std::int64_t now = ++done; now % (batches / 100) == 0) {
        std::fprintf(stderr, "\r%s: %3d %%", function.name, static_cast<int>(100 * now / batches));
        if (now == batches) std::fprintf(stderr, "\r");
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    all.decided_by_mpfr += mine.decided_by_mpfr;
    all.wrong += mine.wrong;
    all.digest += mine.digest;
  });
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

std::string row_of(const ElementaryFunction& function, const Result& result) {
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(result.digest));
  return "| " + std::string(function.name) + " | " + std::to_string(result.decided_by_mpfr) + " | " +
         std::to_string(result.wrong) + " | `" + digest + "` |";
}

bool replace_row(const std::string& path, const std::string& row) {
  std::ifstream old(path);
  std::ostringstream text;
  bool found = false;
  const std::string begin = row.substr(0, row.find('|', 2) + 1);
  for (std::string line; std::getline(old, line); text << line << '\n')
    if (line.rfind(begin, 0) == 0) {
      line = row;
      found = true;
    }
  if (found) std::ofstream(path) << text.str();
  return found;
}

int run(std::vector<std::string> names) {
  std::string path;
  if (names.size() > 1 && names[0] == "--write") {
    path = names[1];
    names.erase(names.begin(), names.begin() + 2);
  }
  for (const std::string& name : names) {
    bool known = false;
    for (const ElementaryFunction& function : elementary_functions) known = known || name == function.name;
    if (known) continue;
    std::fprintf(stderr, "exhaustive_elementary: expected [--write FILE] and names of functions, found %s\n",
                 name.c_str());
    return 2;
  }
  int status = 0;
  for (const ElementaryFunction& function : elementary_functions) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end()) continue;
    const Result result = check(function);
    const std::string row = row_of(function, result);
    std::printf("%s %.0f s on %d threads\n", row.c_str(), result.seconds, threads());
    std::fflush(stdout);
    if (result.wrong > 0) status = 1;
    if (!path.empty() && !replace_row(path, row)) {
      std::fprintf(stderr, "exhaustive_elementary: %s: expected a row of %s\n", path.c_str(), function.name);
      return 2;
    }
  }
  return status;
}

}  // namespace
}  // namespace assay::test

int main(int count, char** arguments) { return assay::test::run({arguments + 1, arguments + count}); }
