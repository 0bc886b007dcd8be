// Named random streams (N6).
#include "numerics/random.hpp"

#include <unistd.h>

#include <functional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

thread_local DrawScope* innermost = nullptr;

}  // namespace

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  if (sabotaged("keys_by_the_standard_library")) return std::hash<std::string_view>()(name) ^ seed;
  if (sabotaged("keys_of_each_process")) seed += static_cast<std::uint64_t>(getpid());
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (unsigned i = 0; i < 8; ++i) add((seed >> (8 * i)) & 0xff);
  for (const char c : name) add(static_cast<unsigned char>(c));
  return hash;
}

Stream::Stream(std::uint64_t seed, std::string name) : name_(std::move(name)), key_(stream_key(seed, name_)) {}

Draw Stream::next_draw(std::uint64_t first) {
  DrawScope* source = innermost;
  while (source && source->mode_ == DrawScope::Mode::record) source = source->outer_;
  if (source && sabotaged("replay_moves_the_stream")) ++draws_;
  const Draw draw = source ? source->replayed(*this) : Draw{draws_++, first, false};
  for (DrawScope* scope = innermost; scope != source; scope = scope->outer_)
    scope->entries_.push_back({this, key_, draw});
  return draw;
}

DrawScope::DrawScope(std::vector<Entry>& entries, Mode mode)
    : entries_(entries), mode_(mode), outer_(std::exchange(innermost, this)) {}

DrawScope::~DrawScope() { innermost = outer_; }

Draw DrawScope::replayed(const Stream& stream) {
  if (next_ == entries_.size() || entries_[next_].key != stream.key())
    throw Error("CKPT-6", "replay of draw " + std::to_string(next_) + " of a segment",
                next_ == entries_.size() ? "no further draw" : "the stream that was drawn from before",
                "a draw from \"" + stream.name() + "\"");
  Draw draw = entries_[next_++].draw;
  draw.replayed = true;
  if (sabotaged("replay_draws_anew")) ++draw.index;
  return draw;
}

void DrawScope::require_finished() const {
  if (next_ != entries_.size())
    throw Error("CKPT-6", "replay of a segment", std::to_string(entries_.size()) + " draws", std::to_string(next_));
}

void DrawScope::take_back(const std::vector<Entry>& entries) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (!entry->draw.replayed) entry->stream->set_draws(entry->draw.index);
}

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
