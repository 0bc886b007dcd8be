// Storage behind a tensor: the device's buffer, its version, and the host's copy of it.
#include "tensor/tensor.hpp"

#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "device/counters.hpp"

namespace assay {

struct Tensor::Storage {
  DeviceBuffer buffer;
  Dtype dtype;
  std::uint64_t version = 0;
  std::shared_ptr<const std::vector<std::byte>> mirror;  // of all of the buffer, at this version; or none
  bool leased = false;
};

namespace {

/// Calls `visit(offset)` for each logical element in row-major order.
template <class Visit>
void for_each_offset(const Shape& shape, const std::array<std::int64_t, max_rank>& strides, std::int64_t offset,
                     Visit&& visit) {
  std::int64_t index[max_rank] = {}, extent[max_rank] = {};
  for (int axis = 0; axis < shape.rank(); ++axis) extent[axis] = shape[axis];
  for (std::int64_t count = shape.size(); count > 0; --count) {
    visit(offset);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += strides[static_cast<std::size_t>(axis)];
      if (++index[axis] < extent[axis]) break;
      offset -= index[axis] * strides[static_cast<std::size_t>(axis)];
      index[axis] = 0;
    }
  }
}

std::array<std::int64_t, max_rank> row_major(const Shape& shape) {
  std::array<std::int64_t, max_rank> strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace

Tensor Tensor::uninitialised(const Shape& shape, Device device, Dtype dtype, Site site) {
  Tensor tensor;
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->buffer = DeviceBuffer(device, static_cast<std::size_t>(shape.size()) * size_of(dtype), site);
  tensor.storage_->dtype = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = row_major(shape);
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, Device device, Site site) {
  Tensor tensor = uninitialised(shape, device, site);
  auto fill = [&](auto element) {
    tensor.storage_->buffer.fill(&element, sizeof element, static_cast<std::size_t>(shape.size()));
  };
  if (tensor.dtype() == Dtype::float32)
    fill(static_cast<float>(value));
  else
    fill(value);
  tensor.count_write();
  return tensor;
}

Dtype Tensor::dtype() const { return storage_->dtype; }
Device Tensor::device() const { return storage_->buffer.device(); }
std::uint64_t Tensor::version() const { return storage_->version; }

void Tensor::succeed(const Tensor& before) {
  storage_->version = before.version() + (sabotaged("successors_keep_the_version") ? 0 : 1);
}

bool Tensor::contiguous() const {
  std::int64_t expected = 1;
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[static_cast<std::size_t>(axis)] != expected) return false;
    expected *= shape_[axis];
  }
  return true;
}

std::byte* Tensor::elements(Dtype dtype) const {
  if (!defined() || (size() == 0 && sabotaged("empty_is_undefined")))
    throw Error("ACC-9", "access to a tensor", "a tensor with a value", "one without");
  if (dtype != storage_->dtype && !sabotaged("any_element_type"))
    throw Error("ACC-4", "access to a tensor " + to_string(shape_), name_of(storage_->dtype), name_of(dtype));
  return storage_->buffer.data() + static_cast<std::size_t>(offset_) * size_of(dtype);
}

std::pair<std::shared_ptr<const std::vector<std::byte>>, std::int64_t> Tensor::host_bytes(Dtype dtype,
                                                                                          Site site) const {
  elements(dtype);
  device_log::access(Access::read, site);
  Storage& storage = *storage_;
  if (!storage.mirror || sabotaged("snapshot_not_kept")) {
    std::vector<std::byte> bytes(storage.buffer.bytes());
    storage.buffer.download(0, bytes.data(), bytes.size(), site);
    storage.mirror = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }
  if (contiguous()) return {storage.mirror, offset_};
  std::size_t width = size_of(dtype);
  auto gathered = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size()) * width);
  std::byte* to = gathered->data();
  for_each_offset(shape_, strides_, offset_, [&](std::int64_t offset) {
    std::memcpy(to, storage.mirror->data() + static_cast<std::size_t>(offset) * width, width);
    to += width;
  });
  return {std::move(gathered), 0};
}

void Tensor::write_bytes(Dtype dtype, std::span<const std::byte> bytes, Site site) {
  elements(dtype);
  std::size_t width = size_of(dtype);
  if (bytes.size() != static_cast<std::size_t>(size()) * width)
    throw Error("ACC-4", "write to a tensor " + to_string(shape_), std::to_string(size()) + " elements",
                std::to_string(bytes.size() / width));
  device_log::access(Access::write, site);
  Storage& storage = *storage_;
  if (contiguous()) {
    storage.buffer.upload(static_cast<std::size_t>(offset_) * width, bytes.data(), bytes.size(), site);
  } else {
    std::vector<std::byte> all(storage.buffer.bytes());
    storage.buffer.download(0, all.data(), all.size(), site);
    const std::byte* from = bytes.data();
    for_each_offset(shape_, strides_, offset_, [&](std::int64_t offset) {
      std::memcpy(all.data() + static_cast<std::size_t>(offset) * width, from, width);
      from += width;
    });
    storage.buffer.upload(0, all.data(), all.size(), site);
  }
  if (storage.mirror && storage.mirror->size() == bytes.size() && sabotaged("snapshot_shares_memory"))
    std::memcpy(const_cast<std::byte*>(storage.mirror->data()), bytes.data(), bytes.size());
  count_write();
  if (dtype == Dtype::int32 && bytes.size() == storage.buffer.bytes() && contiguous())
    storage.mirror = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

double Tensor::item(Site site) const {
  if (!defined() || (size() != 1 && !sabotaged("item_of_many")))
    throw Error("ACC-4", "item", "one element", defined() ? to_string(shape_) : "a tensor without a value");
  return with_type(dtype(), [&](auto zero) { return static_cast<double>(read<decltype(zero)>(site)[0]); });
}

Tensor Tensor::keep() const {
  if (!defined()) throw Error("ACC-9", "keep", "a tensor with a value", "one without");
  storage_->buffer.keep();
  return *this;
}

Tensor Tensor::to(Device device, Site site) const {
  return with_type(dtype(), [&](auto zero) {
    using T = decltype(zero);
    return from(read<T>(site).span(), shape_, device, site);
  });
}

void Tensor::count_write() {
  if (!sabotaged("version_stays")) ++storage_->version;
  if (!sabotaged("stale_mirror")) storage_->mirror.reset();
}

void Tensor::open_lease() const {
  if (std::exchange(storage_->leased, true) && !sabotaged("second_lease_allowed"))
    throw Error("ACC-2", "edit of a tensor " + to_string(shape_), "no open lease",
                "one that is neither committed nor discarded");
}

void Tensor::close_lease() const noexcept { storage_->leased = false; }

namespace {

std::mutex abandoned_mutex;
std::vector<std::string>& abandoned() {
  static std::vector<std::string> places;
  return places;
}

}  // namespace

void detail::abandon_lease(Site site) noexcept {
  if (sabotaged("lease_not_counted")) return;
  std::lock_guard<std::mutex> lock(abandoned_mutex);
  abandoned().push_back(std::string(site.file) + ":" + std::to_string(site.line) + ", " + site.function);
}

std::vector<std::string> abandoned_leases() {
  std::lock_guard<std::mutex> lock(abandoned_mutex);
  return abandoned();
}

Tensor Tensor::transpose(int axis_a, int axis_b) const {
  auto a = static_cast<std::size_t>(shape_.index(axis_a)), b = static_cast<std::size_t>(shape_.index(axis_b));
  Tensor view = *this;
  view.shape_ = shape_.with(axis_a, shape_[axis_b]).with(axis_b, shape_[axis_a]);
  std::swap(view.strides_[a], view.strides_[b]);
  return view;
}

Tensor Tensor::move_axis(int from, int to) const {
  Tensor view = *this;
  for (int axis = from; axis < to; ++axis) view = view.transpose(axis, axis + 1);
  for (int axis = from; axis > to; --axis) view = view.transpose(axis, axis - 1);
  return view;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  if ((begin < 0 || end < begin || end > shape_[axis]) && !sabotaged("slice_beyond_the_end"))
    throw Error("ACC-4", "slice of axis " + std::to_string(axis) + " of " + to_string(shape_),
                "0 <= begin <= end <= " + std::to_string(shape_[axis]),
                std::to_string(begin) + " to " + std::to_string(end));
  Tensor view = *this;
  view.shape_ = shape_.with(axis, end - begin);
  view.offset_ += begin * stride(axis);
  return view;
}

Tensor Tensor::expand(const Shape& shape) const {
  if (broadcast("expand", shape_, shape) != shape)
    throw Error("GRAPH-11", "expand", "a shape that " + to_string(shape_) + " broadcasts to", to_string(shape));
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_ = {};
  for (int back = 1; back <= shape_.rank(); ++back)
    if (shape_[-back] == shape[-back]) view.strides_[static_cast<std::size_t>(shape.rank() - back)] = stride(-back);
  return view;
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.size() != size())
    throw Error("ACC-4", "reshape", "a shape of " + std::to_string(size()) + " elements", to_string(shape));
  if (!contiguous())
    throw Error("ACC-4", "reshape of " + to_string(shape_) + " to " + to_string(shape), "contiguous elements",
                "a strided view");
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_ = row_major(shape);
  return view;
}

}  // namespace assay
