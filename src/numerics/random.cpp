// Named random streams (N6).
#include "numerics/random.hpp"

#include <set>
#include <utility>

#include "base/error.hpp"

namespace assay {

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (unsigned i = 0; i < 8; ++i) add((seed >> (8 * i)) & 0xff);
  for (const char c : name) add(static_cast<unsigned char>(c));
  return hash;
}

Stream::Stream(std::uint64_t seed, std::string name) : name_(std::move(name)), key_(stream_key(seed, name_)) {}

struct Random::Root {
  std::uint64_t seed;
  std::vector<std::shared_ptr<Stream>> streams;
  std::set<std::string> names;
};

Random::Random(std::uint64_t seed) : root_(std::make_shared<Root>(Root{seed, {}, {}})) {}

Random::Random(std::shared_ptr<Root> root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}

std::uint64_t Random::seed() const { return root_->seed; }

Random Random::operator[](std::string_view name) const {
  if (name.empty() || name.find('.') != std::string_view::npos)
    throw Error("REG-3", "random scope in \"" + path_ + "\"", "a name of one segment without '.'",
                "\"" + std::string(name) + "\"");
  return Random(root_, path_.empty() ? std::string(name) : path_ + "." + std::string(name));
}

std::shared_ptr<Stream> Random::stream() const {
  if (path_.empty()) throw Error("REG-3", "open a random stream", "a scope with a name", "the root");
  if (!root_->names.insert(path_).second)
    throw Error("REG-4", "open a random stream", "a name that is not open yet",
                "\"" + path_ + "\" for the second time");
  root_->streams.push_back(std::make_shared<Stream>(root_->seed, path_));
  return root_->streams.back();
}

const std::vector<std::shared_ptr<Stream>>& Random::streams() const { return root_->streams; }

}  // namespace assay
