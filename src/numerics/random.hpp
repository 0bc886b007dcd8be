// Named random streams: which key a name has, and how many draws a stream has made (N6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The Philox key of a stream: FNV-1a-64 over the seed (8 bytes, little endian) followed by the UTF-8 name.
///
///     numerics::shuffle(order.data(), order.size(), stream_key(seed, "data.order"), epoch);
std::uint64_t stream_key(std::uint64_t seed, std::string_view name);

/// One draw of a stream.
struct Draw {
  std::uint64_t index;  ///< how many draws the stream had made before
  std::uint64_t first;  ///< the number that its first element has in the whole batch
  bool replayed;        ///< whether it is given a second time, by a DrawScope
};

/// One named sequence of draws. The counter is all of its state: every number is a function of (key, draw, element).
class Stream {
 public:
  Stream(std::uint64_t seed, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t key() const { return key_; }

  /// The number of draws made so far; a checkpoint stores it and `set_draws` puts it back.
  std::uint64_t draws() const { return draws_; }
  void set_draws(std::uint64_t draws) { draws_ = draws; }

  /// The draw that is made now; raises the counter by one, except while a DrawScope replays.
  /// Errors: CKPT-6 when this is not the draw that was made at this place before.
  ///
  ///     float u = numerics::uniform(stream.key(), n, stream.next_draw().index);
  Draw next_draw(std::uint64_t first = 0);

 private:
  std::string name_;
  std::uint64_t key_;
  std::uint64_t draws_ = 0;
};

/// While one exists, this thread's draws are written down, or those that were written down are given again in the same
/// order and with the same `first`, and the counters stay as they are: so a computation can be repeated with its random
/// numbers. Scopes nest: what an outer one replays, an inner one writes down as any other draw.
///
///     std::vector<DrawScope::Entry> draws;
///     { DrawScope record(draws, DrawScope::Mode::record);  y = dropout.forward(x); }
///     { DrawScope replay(draws, DrawScope::Mode::replay);  dropout.forward(x); }  // the same mask
class DrawScope {
 public:
  struct Entry {
    Stream* stream;
    std::uint64_t key;
    Draw draw;
  };
  enum class Mode { record, replay };

  /// The entries must outlive the scope.
  DrawScope(std::vector<Entry>& entries, Mode mode);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

  /// Refuses a replay that made fewer draws than were written down (CKPT-6).
  void require_finished() const;
  /// Sets the streams back to before these draws; they must still exist.
  static void take_back(const std::vector<Entry>& entries);

 private:
  friend class Stream;
  Draw replayed(const Stream& stream);

  std::vector<Entry>& entries_;
  Mode mode_;
  std::size_t next_ = 0;
  DrawScope* outer_;
};

/// A scope of stream names, handed to constructors: `random["fc1"]` is the scope of the child "fc1", and the stream of
/// a scope is named by its path. Copies and children share one list of opened streams. Not for use by two threads.
///
///     Random random(seed);
///     std::shared_ptr<Stream> weight = random["fc1"]["weight"].stream();  // named "fc1.weight"
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t seed() const;
  /// Names joined by '.'; "" for the root.
  const std::string& path() const { return path_; }

  /// The scope of a child. Throws REG-3 unless `name` is one non-empty segment without '.'.
  Random operator[](std::string_view name) const;

  /// Opens the stream named `path()`. Throws REG-4 when it was opened before (two users would draw the same numbers),
  /// REG-3 on the root.
  std::shared_ptr<Stream> stream() const;

  /// Every stream opened under the root so far, in order of opening.
  const std::vector<std::shared_ptr<Stream>>& streams() const;

 private:
  struct Root;
  Random(std::shared_ptr<Root> root, std::string path);

  std::shared_ptr<Root> root_;
  std::string path_;
};

}  // namespace assay
