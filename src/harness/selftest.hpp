// The self-test: a fixed battery of computations and one digest of all their bits (N8).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace assay {

struct SelftestPart {
  std::string name;
  std::uint64_t digest;
};

/// Runs the battery on the device, cpu or simulated: elementary functions, random draws, every operation forward and
/// backward, optimiser steps and a short training. The digests are the same on every machine, with every number of
/// threads, instruction set, compiler and build type, and on both devices; a difference names the part that is to be
/// looked at.
std::vector<SelftestPart> run_selftest(Device device = cpu);

/// One digest of all parts: SHA-256, 64 hexadecimal digits.
///
///     std::string digest = selftest_digest(run_selftest());
std::string selftest_digest(const std::vector<SelftestPart>& parts);

}  // namespace assay
