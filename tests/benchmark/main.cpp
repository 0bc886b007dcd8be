// What scripts/benchmark runs: measures the cases of one benchmark and prints their samples as lines of JSON.
//
//     benchmark_cases about
//     benchmark_cases gemm|elementwise|price|cuda ROUNDS SECONDS FLOATS [SUBSTRING]
//     benchmark_cases train_step mlp|V,C,D,H,N,F,B none|step
//     benchmark_cases runs steps|steps_apart|checkpoints|checkpoints_apart FOLDER MEGABYTES
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/build_info.hpp"
#include "benchmark/measure.hpp"
#include "benchmark/runs.hpp"
#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: benchmark_cases about, train_step MODEL LEVEL, or gemm|elementwise|price|cuda ROUNDS SECONDS "
               "FLOATS, or\n"
               "       benchmark_cases runs steps|steps_apart|checkpoints|checkpoints_apart FOLDER MEGABYTES\n");
  return 2;
}

void about() {
  const assay::BuildInfo build = assay::build_info();
  nlohmann::json line = {{"cpu", assay::cpu_model()},      {"isa", assay::to_string(assay::isa())},
                         {"threads", assay::threads()},    {"compiler", build.compiler},
                         {"build_type", build.build_type}, {"git_commit", build.git_commit},
                         {"git_dirty", build.git_dirty}};
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string_view name = count > 1 ? arguments[1] : "";
  if (name == "about") return about(), 0;
  if (name == "train_step" && count == 4) return assay::benchmark::serve_train_steps(arguments[2], arguments[3]), 0;
  if (count < 5) return usage();
  if (name == "runs")
    return assay::benchmark::write_runs(arguments[2], arguments[3], std::strtoull(arguments[4], nullptr, 10)) ? 0
                                                                                                              : usage();
  const assay::benchmark::Options options{std::atoi(arguments[2]), std::atof(arguments[3]), std::atoll(arguments[4]),
                                          count > 5 ? arguments[5] : ""};
  if (name == "gemm") return assay::benchmark::gemm(options), 0;
  if (name == "elementwise") return assay::benchmark::elementwise(options), 0;
  if (name == "price") return assay::benchmark::price(options), 0;
  if (name == "cuda") return assay::benchmark::cuda(options), 0;
  return usage();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
