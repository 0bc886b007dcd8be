// Record: numbers that kernels leave on their device until the host reads all of them at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/dispatch.hpp"

namespace assay::kernels {

/// Slots of 64 bits on a device. Kernels write a number each; the first look at one downloads all, and serves until
/// another is written. So a training step reads its loss, norm, flags and digests in one transfer.
///
///     Record record(device, 2);
///     digest(x, record.slot(0));
///     squared_norm(g, record.slot(1));
///     record.bits(0), record.number(1);  // one download
class Record {
 public:
  Record(Device device, std::int64_t slots) : slots_(Tensor::uninitialised({slots}, device, Dtype::uint64)) {}

  const Tensor& all() const { return slots_; }
  Tensor slots(std::int64_t begin, std::int64_t end) const { return slots_.slice(0, begin, end); }
  Tensor slot(std::int64_t index) const { return slots(index, index + 1); }
  std::uint64_t bits(std::int64_t index) const { return slots_.read<std::uint64_t>()[index]; }
  double number(std::int64_t index) const { return std::bit_cast<double>(bits(index)); }

 private:
  Tensor slots_;
};

/// Marks the slot that a kernel fills.
struct Slot {
  const Tensor& tensor;
};
inline View<std::uint64_t> operand(Slot slot) { return Tensor(slot.tensor).write_view<std::uint64_t>(); }
inline void require_operand(Slot slot) { slot.tensor.view<std::uint64_t>(); }

/// One slot of several, for a kernel that fills one.
inline View<std::uint64_t> slot_of(const View<std::uint64_t>& slots, std::size_t index) { return {slots.data + index}; }

inline std::uint64_t as_bits(double value) { return std::bit_cast<std::uint64_t>(value); }
inline std::uint64_t as_bits(std::uint64_t value) { return value; }
inline std::uint64_t as_bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
inline std::uint64_t as_bits(bool value) { return value; }

/// 1 if every slot holds a 1, else 0.
ASSAY_DECLARE_KERNEL(void all_set(View<const std::uint64_t> slots, View<std::uint64_t> verdict))

/// Whether the first `count` slots hold a 1.
inline bool all_set(const std::uint64_t* slots, std::size_t count) {
  return std::all_of(slots, slots + count, [](std::uint64_t bits) { return bits == 1; });
}

/// Writes numbers into slots where the oracle has computed them.
inline void write_slots(const Tensor& slots, const std::vector<std::uint64_t>& numbers) {
  slots.slice(0, 0, static_cast<std::int64_t>(numbers.size())).write(numbers);
}

/// Fills a slot by `kernel(operands…, slot)`; on the reference device, with what the oracle returns.
template <class Call, class Oracle, class... Operands>
void run_into(const Tensor& slot, const Kernel<Call>& kernel, Oracle oracle, const Operands&... operands) {
  if (slot.device() == reference_device) {
    device_log::launch(slot.device(), kernel.name);
    write_slots(slot, {as_bits(oracle(oracle_operand(operands)...))});
  } else {
    launch(slot.device(), kernel, operands..., Slot{slot});
  }
}

}  // namespace assay::kernels
