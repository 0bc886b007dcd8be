// Tensor: a value of some shape on some device, and the three ways to it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sabotage.hpp"
#include "device/buffer.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"
#include "tensor/view.hpp"

namespace assay {

/// An immutable copy of a tensor's value on the host, row-major. It owns its bytes: what it shows stays the same
/// through writes, steps, transfers and the tensor's death (ACC-1).
template <class T>
class Snapshot {
 public:
  Snapshot(std::shared_ptr<const std::vector<std::byte>> bytes, std::int64_t first, std::int64_t size)
      : bytes_(std::move(bytes)), first_(first), size_(size) {}
  std::int64_t size() const { return size_; }
  const T* data() const { return reinterpret_cast<const T*>(bytes_->data()) + first_; }
  const T& operator[](std::int64_t index) const { return data()[index]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::span<const T> span() const { return {data(), static_cast<std::size_t>(size_)}; }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::int64_t first_, size_;
};

template <class T>
class Lease;

/// A handle on a value: copies of a handle and views of it share the elements, `to` and the operations make new ones.
///
/// The value is reached in three ways and no fourth (ACC): `read` gives an immutable copy, `edit` a lease on a writable
/// copy that is installed by `commit`, `write` installs a new value. Shape, dtype and device are known without reading.
/// Every write raises `version` by one. Kernels use `view` and `write_view`, which show device memory.
///
/// The value is always current on its device. A read leaves a copy on the host that serves all reads until the value
/// changes; written int32 values stay there from the start, since operations check indices before they use them.
/// A tensor made inside a PassScope lives until the next pass unless `keep` moves it out (RES-8).
///
///     Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
///     x.transpose(0, 1).read<float>()[1];  // 3
class Tensor {
 public:
  /// No value at all; only `defined`, assignment and destruction are allowed. (Not the same as empty: a zero extent.)
  Tensor() = default;

  /// A tensor whose elements hold anything until they are written.
  static Tensor uninitialised(const Shape& shape, Device device = cpu, Site site = Site::here()) {
    return uninitialised(shape, device, real(device), site);
  }
  static Tensor uninitialised(const Shape& shape, Device device, Dtype dtype, Site site = Site::here());
  static Tensor zeros(const Shape& shape, Device device = cpu, Site site = Site::here()) {
    return full(shape, 0, device, site);
  }
  /// Every element `value`, rounded once to the device's real type; written on the device, nothing is uploaded.
  static Tensor full(const Shape& shape, double value, Device device = cpu, Site site = Site::here());
  /// From host values, row-major; float and double values become the device's real type, others keep theirs.
  /// Errors: ACC-4 when the count is not the shape's size.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = cpu, Site site = Site::here());
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Device device = cpu, Site site = Site::here()) {
    return from(std::span<const T>(values), shape, device, site);
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  std::int64_t stride(int axis) const { return strides_[static_cast<std::size_t>(shape_.index(axis))]; }
  std::int64_t size() const { return shape_.size(); }
  Dtype dtype() const;
  Device device() const;
  /// Writes so far; shared by all views of one value.
  std::uint64_t version() const;
  /// Counts this value as the next version of another, in whose place it is put.
  void succeed(const Tensor& before);
  /// Whether two handles show the same storage, perhaps through different views.
  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }
  /// Whether no other handle holds the storage.
  bool owns_storage_alone() const { return storage_.use_count() == 1; }
  bool contiguous() const;

  /// The value now. One download serves all reads until the value changes. Errors: ACC-4 for another element type.
  template <class T>
  Snapshot<T> read(Site site = Site::here()) const;
  /// A lease on a writable copy. Errors: ACC-2 when one is open already, ACC-4 for another element type.
  template <class T>
  [[nodiscard]] Lease<T> edit(Site site = Site::here());
  /// Installs a new value, row-major. Errors: ACC-4 for another element type or count; nothing is written then.
  template <class T>
  void write(std::span<const T> values, Site site = Site::here());
  template <class T>
  void write(const std::vector<T>& values, Site site = Site::here()) {
    write(std::span<const T>(values), site);
  }
  /// The only element as a double. Errors: ACC-4 when there is not exactly one.
  double item(Site site = Site::here()) const;
  /// The same tensor, moved out of its pass with all its handles and views. Errors: RES-8 when the pass is over, ACC-9
  /// without a value.
  Tensor keep() const;

  /// A new tensor with the same value on another device; real numbers take that device's type (widening is exact, the
  /// way back rounds once), so a round trip keeps the bits.
  Tensor to(Device device, Site site = Site::here()) const;

  // Views: no element is copied, and a write through one is seen through all (ACC-4 for a wrong axis or extent).
  Tensor transpose(int axis_a, int axis_b) const;
  /// One axis in another place; the others keep their order.
  Tensor move_axis(int from, int to) const;
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  /// NumPy's broadcast to a larger shape, with stride 0 where an extent of 1 is stretched.
  Tensor expand(const Shape& shape) const;
  /// The same elements under another shape of the same size. Errors: ACC-4 when the strides do not allow a view.
  Tensor reshape(const Shape& shape) const;

  /// For kernels: the elements where they live. `write_view` counts as one write; `uncounted_write_view` does not, for
  /// a kernel that decides on its device whether to write: `count_write` follows when it did.
  template <class T>
  View<const T> view() const;
  template <class T>
  View<T> write_view();
  template <class T>
  View<T> uncounted_write_view();
  void count_write();

 private:
  struct Storage;
  template <class T>
  friend class Lease;

  std::byte* elements(Dtype dtype) const;
  std::pair<std::shared_ptr<const std::vector<std::byte>>, std::int64_t> host_bytes(Dtype dtype, Site site) const;
  void write_bytes(Dtype dtype, std::span<const std::byte> bytes, Site site);
  void open_lease() const;
  void close_lease() const noexcept;

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  std::array<std::int64_t, max_rank> strides_{};
  std::int64_t offset_ = 0;
};

/// Places whose leases ended without commit or discard while no exception was under way, each once for every lease.
std::vector<std::string> abandoned_leases();

namespace detail {
void abandon_lease(Site site) noexcept;
}

/// A writable copy of a tensor's value; nothing is seen by anyone until `commit`, and `discard` drops it. One that just
/// ends is dropped too, but is a mistake, which `abandoned_leases` tells (ACC-2).
///
///     auto lease = bias.edit<float>();
///     lease[0] += 1;
///     lease.commit();
template <class T>
class [[nodiscard]] Lease {
 public:
  Lease(Tensor tensor, Site site) : tensor_(std::move(tensor)), site_(site), exceptions_(std::uncaught_exceptions()) {
    auto now = tensor_.read<T>(site);
    values_.assign(now.begin(), now.end());
    tensor_.open_lease();
  }
  Lease(Lease&& other) noexcept
      : tensor_(std::exchange(other.tensor_, {})),
        values_(std::move(other.values_)),
        site_(other.site_),
        exceptions_(other.exceptions_) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (tensor_.defined() && std::uncaught_exceptions() <= exceptions_) detail::abandon_lease(site_);
    discard();
  }

  T& operator[](std::int64_t index) { return values_[static_cast<std::size_t>(index)]; }
  std::span<T> span() { return values_; }
  /// Installs the values as one write. When that fails the lease stays open and the tensor as it was.
  void commit() {
    tensor_.write(std::span<const T>(values_), site_);
    close();
  }
  void discard() noexcept {
    if (tensor_.defined() && sabotaged("lease_discard_commits")) tensor_.write(std::span<const T>(values_), site_);
    close();
  }

 private:
  void close() noexcept {
    if (tensor_.defined()) std::exchange(tensor_, {}).close_lease();
  }

  Tensor tensor_;
  std::vector<T> values_;
  Site site_;
  int exceptions_;
};

template <class T>
Lease<T> Tensor::edit(Site site) {
  return Lease<T>(*this, site);
}

template <class T>
Snapshot<T> Tensor::read(Site site) const {
  auto [bytes, first] = host_bytes(dtype_of<T>(), site);
  return Snapshot<T>(std::move(bytes), first, size());
}

template <class T>
void Tensor::write(std::span<const T> values, Site site) {
  write_bytes(dtype_of<T>(), std::as_bytes(values), site);
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape, Device device, Site site) {
  constexpr bool is_real = std::is_floating_point_v<T>;
  Tensor tensor = uninitialised(shape, device, is_real ? real(device) : dtype_of<T>(), site);
  if constexpr (is_real) {
    if (tensor.dtype() != dtype_of<T>()) {
      using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
      tensor.write(std::vector<Other>(values.begin(), values.end()), site);
      return tensor;
    }
  }
  tensor.write(values, site);
  return tensor;
}

template <class T>
View<const T> Tensor::view() const {
  View<const T> view;
  view.data = reinterpret_cast<const T*>(elements(dtype_of<T>()));
  view.rank = shape_.rank();
  for (int axis = 0; axis < view.rank; ++axis) {
    view.extent[axis] = shape_[axis];
    view.stride[axis] = strides_[static_cast<std::size_t>(axis)];
  }
  return view;
}

template <class T>
View<T> Tensor::write_view() {
  View<T> view = uncounted_write_view<T>();
  count_write();
  return view;
}

template <class T>
View<T> Tensor::uncounted_write_view() {
  View<const T> now = view<T>();
  View<T> view;
  view.data = const_cast<T*>(now.data);
  view.rank = now.rank;
  for (int axis = 0; axis < view.rank; ++axis) {
    view.extent[axis] = now.extent[axis];
    view.stride[axis] = now.stride[axis];
  }
  return view;
}

}  // namespace assay
