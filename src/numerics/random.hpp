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

/// One named sequence of draws. The counter is all of its state: every number is a function of (key, draw, element).
class Stream {
 public:
  Stream(std::uint64_t seed, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t key() const { return key_; }

  /// The number of draws made so far; a checkpoint stores it and `set_draws` puts it back.
  std::uint64_t draws() const { return draws_; }
  void set_draws(std::uint64_t draws) { draws_ = draws; }

  /// The index of the draw that is made now; raises the counter by one.
  ///
  ///     float u = numerics::uniform(stream.key(), n, stream.next_draw());
  std::uint64_t next_draw() { return draws_++; }

 private:
  std::string name_;
  std::uint64_t key_;
  std::uint64_t draws_ = 0;
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
