// The choice of the GPU, its memory, its copies and its errors, over a fake of CUDA's runtime: needs no GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "cuda/fake_runtime.hpp"
#include "device/buffer.hpp"
#include "device/counters.hpp"
#include "device/cuda/runtime.hpp"

using namespace assay;
namespace fake = assay::test::fake;

namespace {

bool failed = false;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("  %s\n", what.c_str());
  failed = true;
}

template <class Call>
void expect_refused(Call call, const std::string& id, const std::vector<std::string>& fragments,
                    const std::string& absent = "nowhere") {
  try {
    call();
    expect(false, "not refused, expected " + id);
  } catch (const Error& error) {
    const std::string text = error.what();
    expect(error.id() == id, "refused as " + text + ", expected " + id);
    for (const std::string& fragment : fragments)
      expect(text.find(fragment) != std::string::npos, "\"" + text + "\" does not contain \"" + fragment + "\"");
    expect(text.find(absent) == std::string::npos, "\"" + text + "\" contains \"" + absent + "\"");
  }
}

void expect_none(const std::string& reason) {
  expect(!describe_devices().back().usable, "usable");
  expect_refused([] { parse_device("cuda"); }, "XFER-8", {reason, "--device simulated"});
  expect_refused([] { DeviceBuffer(cuda_device, 4); }, "XFER-8", {reason});
  expect(device_counters(cuda_device).allocations == 0, "counted as an allocation");
}

void no_driver() {
  fake::driver = 0;
  expect_none("no NVIDIA driver on this machine");
}
void old_driver() {
  fake::driver = 12020;
  fake::count_result = cudaErrorInsufficientDriver;
  expect_none("cudaErrorInsufficientDriver (its text), driver ");
  expect_none("CUDA 12.2");
}
void no_gpu() {
  fake::gpus = {};
  expect_none("no GPU");
}
void old_gpu() {
  fake::gpus = {{"Old", 7, 5}};
  expect_none("GPU 0, Old, 1.0 GiB, compute capability 7.5, ");
  expect_none("this build has code for 8.0, 9.0");
}
void busy_gpu_is_passed_over() {
  fake::gpus = {{"Busy", 9, 0, false}, {"Old", 7, 5}, {"Free", 8, 6}};
  expect(parse_device("cuda") == cuda_device, "no device");
  expect(fake::current == 2, "not the third GPU");
  expect(cuda::description().starts_with("Free, 1.0 GiB, compute capability 8.6, driver "), cuda::description());
}
void only_busy_gpu() {
  fake::gpus = {{"Busy", 9, 0, false}};
  expect_none("it does not start: cudaErrorDevicesUnavailable");
}
void later_gpu_runs_ptx() {
  fake::gpus = {{"New", 12, 0}};
  expect(parse_device("cuda") == cuda_device, "no device");
}
void chosen_gpu() {
  setenv("ASSAY_CUDA_DEVICE", "1", 1);
  fake::gpus = {{"First", 9, 0}, {"Second", 9, 0}};
  expect(cuda::description().starts_with("Second"), cuda::description());
}
void chosen_gpu_is_the_only_one_tried() {
  setenv("ASSAY_CUDA_DEVICE", "1", 1);
  fake::gpus = {{"First", 9, 0}, {"Old", 7, 5}, {"Third", 9, 0}};
  expect_none("GPU 1, Old");
}
void chosen_gpu_is_not_there() {
  setenv("ASSAY_CUDA_DEVICE", "1x", 1);
  expect_none("ASSAY_CUDA_DEVICE=1x where the GPUs are 0 to 0");
}

void uploads_take_their_bytes_at_once_and_keep_their_order() {
  constexpr std::size_t numbers = std::size_t{3} << 20;  // 12 MiB: more than the pinned buffer, three times
  std::vector<std::uint32_t> source(numbers), result(numbers);
  DeviceBuffer buffer(cuda_device, numbers * 4);
  std::iota(source.begin(), source.end(), 1u);
  const std::vector<std::uint32_t> wanted = source;
  buffer.upload(0, source.data(), numbers * 4, Site::here());
  source.assign(numbers, 0);
  for (std::uint32_t i = 0; i < 100; ++i) buffer.upload(4 * 7, &i, 4, Site::here());
  buffer.download(0, result.data(), numbers * 4, Site::here());
  expect(result[7] == 99, "the last upload is not the last");
  result[7] = wanted[7];
  expect(result == wanted, "other bytes");
}

void full_memory_gives_back_what_is_free_and_is_refused_with_numbers() {
  fake::memory = 1 << 20;
  DeviceBuffer held(cuda_device, 1 << 18);
  const std::uint32_t value = 7;
  held.upload(0, &value, 4, Site::here());
  for (std::size_t bytes : {1 << 17, 1 << 16, 1 << 15}) DeviceBuffer(cuda_device, bytes);
  expect(fake::used == (1 << 18) + (1 << 17) + (1 << 16) + (1 << 15), "nothing is kept");
  DeviceBuffer large(cuda_device, (1 << 19) + (1 << 17));
  expect(fake::used == (1 << 18) + (1 << 19) + (1 << 17), "kept memory was not given back");
  const DeviceCounters before = device_counters(cuda_device);
  expect_refused([] { DeviceBuffer(cuda_device, 1 << 18); }, "RES-6",
                 {"allocation on cuda", "262144 bytes", "131072 bytes of 1048576 free"});
  expect(device_counters(cuda_device).live_bytes == before.live_bytes, "live bytes changed");
  std::uint32_t found = 0;
  held.download(0, &found, 4, Site::here());
  expect(found == 7, "what is held changed");
  DeviceBuffer small(cuda_device, 1 << 17);
}

void a_launch_that_fails_is_named_and_the_next_one_is_not_blamed() {
  DeviceBuffer buffer(cuda_device, 4);
  cuda::check_launch("exp");
  fake::last_error = cudaErrorInvalidConfiguration;
  expect_refused([] { cuda::check_launch("softmax"); }, "RES-6", {"launch of softmax on cuda", "exp, softmax"});
  cuda::check_launch("exp");
}

void a_kernel_that_fails_is_among_those_that_the_next_wait_names() {
  DeviceBuffer buffer(cuda_device, 4);
  std::uint32_t value = 0;
  cuda::check_launch("before");
  buffer.download(0, &value, 4, Site::here());
  for (const char* kernel : {"add", "exp"}) cuda::check_launch(kernel);
  fake::queue.push_back([] { return cudaErrorIllegalAddress; });
  expect_refused([&] { buffer.download(0, &value, 4, Site::here()); }, "RES-6",
                 {"download of 4 bytes on cuda", "cudaStreamSynchronize", "cudaErrorIllegalAddress (its text)",
                  "kernels launched since the last wait: add, exp"},
                 "before");
  for (int i = 0; i < 20; ++i) cuda::check_launch(i < 12 ? "early" : "late");
  fake::queue.push_back([] { return cudaErrorIllegalAddress; });
  expect_refused(
      [&] { buffer.download(0, &value, 4, Site::here()); }, "RES-6",
      {"the last of 22 kernels launched since the last wait: late, late, late, late, late, late, late, late"}, "early");
}

void nothing_failed_is_said() {
  DeviceBuffer buffer(cuda_device, 4);
  std::uint32_t value = 0;
  fake::queue.push_back([] { return cudaErrorIllegalAddress; });
  expect_refused([&] { buffer.download(0, &value, 4, Site::here()); }, "RES-6", {"no kernel was launched"});
}

struct Named {
  const char* name;
  void (*run)();
};
#define CASE(name) \
  Named { #name, name }

}  // namespace

// A process chooses its GPU once, so each case is a process.
int main() {
  unsetenv("ASSAY_CUDA_DEVICE");
  int failures = 0;
  for (const auto& [name, run] :
       {CASE(no_driver), CASE(old_driver), CASE(no_gpu), CASE(old_gpu), CASE(busy_gpu_is_passed_over),
        CASE(only_busy_gpu), CASE(later_gpu_runs_ptx), CASE(chosen_gpu), CASE(chosen_gpu_is_the_only_one_tried),
        CASE(chosen_gpu_is_not_there), CASE(uploads_take_their_bytes_at_once_and_keep_their_order),
        CASE(full_memory_gives_back_what_is_free_and_is_refused_with_numbers),
        CASE(a_launch_that_fails_is_named_and_the_next_one_is_not_blamed),
        CASE(a_kernel_that_fails_is_among_those_that_the_next_wait_names), CASE(nothing_failed_is_said)}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      try {
        run();
      } catch (const std::exception& error) {
        expect(false, error.what());
      }
      std::fflush(stdout);
      std::_Exit(failed);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%s %s\n", status == 0 ? "pass" : "FAIL", name);
    failures += status != 0;
  }
  return failures != 0;
}
