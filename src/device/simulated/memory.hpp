// Memory of the simulated device: addresses that the host cannot follow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simulated_memory {

/// A device pointer lies in a range that is mapped without any access for ever, so whoever follows it on the host dies
/// at once. The same memory is mapped readable at a fixed distance; only copies and launches know it.
///
/// `bytes` (a multiple of 256) of memory that nobody had before, 256-byte aligned; null when there is none left. It is
/// never given back: the pools reuse it.
std::byte* reserve(std::size_t bytes);

/// Where the host finds the memory behind a device pointer.
std::ptrdiff_t host_distance();

template <class T>
T* on_host(T* device_pointer) {
  return device_pointer ? reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(device_pointer) +
                                               static_cast<std::uintptr_t>(host_distance()))
                        : nullptr;
}

}  // namespace assay::simulated_memory
