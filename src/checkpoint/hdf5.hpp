// HDF5 behind handles that close themselves: objects, groups, attributes, datasets. No other file calls the library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/array.hpp"

namespace assay::hdf5 {

/// The value of an attribute: 64-bit integers, binary64 or UTF-8 text.
using Value = std::variant<std::int64_t, std::uint64_t, double, std::string>;

/// An identifier of the library, closed at the end of its life. Move-only.
class Handle {
 public:
  using Close = int (*)(std::int64_t);

  Handle() = default;
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  std::int64_t id() const { return id_; }

 private:
  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// A group or dataset of a file that is being written or read, with its attributes.
///
/// Errors: every failure is FILE-3 with the file, the object and the library's own message.
class Object {
 public:
  Object(Handle handle, std::string file, std::string path)
      : handle_(std::move(handle)), file_(std::move(file)), path_(std::move(path)) {}

  void set(const std::string& name, const Value& value);
  bool has(const std::string& name) const;
  /// Signed integers come back as int64, unsigned ones as uint64, floating point as double, scalar text as string.
  Value get(const std::string& name) const;
  std::string get_string(const std::string& name) const;
  /// An integer that is not negative, stored signed or unsigned.
  std::uint64_t get_count(const std::string& name) const;
  double get_double(const std::string& name) const;
  /// Names in creation order, where the file keeps one, else by name.
  std::vector<std::string> attributes() const;

  /// "FILE: /path/of/object", as error messages name it.
  std::string where() const { return file_ + ": " + path_; }

 protected:
  template <class T>
  T get_as(const std::string& name, const char* type) const;
  [[noreturn]] void fail(const std::string& name, const std::string& expected, const std::string& found) const;
  std::int64_t check(std::int64_t result, const std::string& name, const char* doing) const;

  Handle handle_;
  std::string file_, path_;
};

/// What a virtual dataset shows of another file.
struct VirtualPart {
  std::string file;  ///< relative to the folder of the file with the virtual dataset
  std::uint64_t rows = 0;
};

struct Child {
  enum class Kind { group, dataset, link, other };
  std::string name;
  Kind kind;
};

/// A group. Groups and attributes that it creates keep creation order and no times, so equal content gives equal bytes.
///
///     Group names = root.create_group("names");
///     names.write_strings("parameters", {"fc1.weight", "fc1.bias"});
///     root.create_group("parameters").write("fc1.bias", Array::of(bias)).set("axes", std::string("H"));
class Group : public Object {
 public:
  using Object::Object;

  Group create_group(const std::string& name);
  Object write(const std::string& name, const Array& array);
  void write_string(const std::string& name, const std::string& text);
  void write_strings(const std::string& name, const std::vector<std::string>& texts);
  /// One dataset of the given shape that shows the datasets `path` of all parts one after the other, `shape[0]` rows in
  /// all. A part that cannot be read shows as 0, floating point as NaN.
  void write_virtual(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape,
                     const std::string& path, const std::vector<VirtualPart>& parts);

  bool contains(const std::string& name) const;
  Group group(const std::string& name) const;
  Object dataset(const std::string& name) const;
  /// The whole dataset. What is allocated is bounded by what the file stores: shape and stored bytes must agree.
  Array read(const std::string& name) const;
  /// The whole dataset in place of what `values` held. Errors: FILE-3 when it has not this shape and T's type.
  template <class T>
  void read_into(std::vector<T>& values, const std::string& name, const std::vector<std::int64_t>& shape) const {
    read_into(name, element_type<T>(), shape, [&values](std::size_t count) {
      values.resize(count);
      return values.data();
    });
  }
  std::string read_string(const std::string& name) const;
  std::vector<std::string> read_strings(const std::string& name) const;
  /// In creation order, where the file keeps one, else by name.
  std::vector<Child> children() const;
  /// Type and shape of a dataset in words, whatever its type: "float32 [128, 784]".
  std::string dataset_text(const std::string& name) const;

 private:
  void read_into(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape,
                 const std::function<void*(std::size_t)>& room) const;
};

/// A new file in memory; `close()` gives its bytes as they stand behind a user block of `user_block` bytes.
class MemoryFile {
 public:
  /// `name` is used in error messages only.
  MemoryFile(const std::string& name, std::uint64_t user_block);
  Group& root() { return root_; }
  std::vector<std::byte> close();

 private:
  MemoryFile(Handle file, const std::string& name);

  Handle file_;
  Group root_;
};

/// The bytes of a file, which the file shares with who opens it.
using SharedBytes = std::shared_ptr<std::vector<std::byte>>;

/// The root of a file given by its bytes (user block included), which stay as they are while anything of it is open.
Group open_bytes(const std::string& name, const SharedBytes& bytes);
/// The root of a file on disk, read-only. For files that no check has passed: only in a process that may crash.
Group open_unchecked(const std::string& path);
/// "1.10.8"
std::string library_version();

}  // namespace assay::hdf5
