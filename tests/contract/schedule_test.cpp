// Contract of the schedules.
#include "optim/schedule.hpp"

#include <cmath>

#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

BOOST_AUTO_TEST_SUITE(schedules)

namespace {

constexpr double high = 0.003, first = 0.04 * high, low = 0.1 * high;

ScheduleOptions options(const char* kind, std::uint64_t steps, std::uint64_t period = 0) {
  return {.kind = kind,
          .learning_rate = high,
          .steps = steps,
          .period = period,
          .factor = 0.1,
          .warmup = 0.3,
          .start = 0.04,
          .minimum = 0.1};
}

void check_rises_and_falls(const Schedule& schedule, std::uint64_t begin, std::uint64_t end, bool rises) {
  for (std::uint64_t s = begin; s < end; ++s) {
    double now = schedule.learning_rate(s), next = schedule.learning_rate(s + 1);
    BOOST_TEST((rises ? now < next : now > next), "step " << s << ": " << now << " then " << next);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(OPT_9_constant_and_step_hit_their_rates_exactly) {
  BOOST_TEST(Schedule(options("constant", 10)).learning_rate(1000) == high);
  Schedule whole(options("step", 10)), schedule(options("step", 10, 4));
  BOOST_TEST(whole.learning_rate(9) == high);
  BOOST_TEST(schedule.learning_rate(3) == high);
  BOOST_TEST(schedule.learning_rate(4) == high * 0.1);
  BOOST_TEST(schedule.learning_rate(7) == high * 0.1);
  BOOST_TEST(schedule.learning_rate(8) == high * (0.1 * 0.1));
}

BOOST_AUTO_TEST_CASE(OPT_9_cosine_falls_from_the_largest_to_the_lowest_rate_in_every_period) {
  for (std::uint64_t period : {2, 7, 1000}) {
    Schedule schedule(options("cosine", 3000, period));
    for (std::uint64_t restart = 0; restart < 3; ++restart) {
      BOOST_TEST(schedule.learning_rate(restart * period) == high);
      BOOST_TEST(schedule.learning_rate(restart * period + period - 1) == low);
      check_rises_and_falls(schedule, restart * period, restart * period + period - 1, false);
    }
  }
  Schedule whole(options("cosine", 101)), every_step(options("cosine", 101, 1));
  BOOST_TEST(whole.learning_rate(100) == low);
  BOOST_TEST(std::abs(whole.learning_rate(25) - (low + (high - low) * (1 + std::sqrt(0.5)) / 2)) < 1e-18);
  BOOST_TEST(every_step.learning_rate(5) == high);
}

BOOST_AUTO_TEST_CASE(OPT_9_one_cycle_and_warmup_cosine_hit_first_peak_and_last_rate_exactly) {
  for (const char* kind : {"one_cycle", "warmup_cosine"})
    for (std::uint64_t steps : {11, 201, 5432}) {
      Schedule schedule(options(kind, steps));
      auto peak = static_cast<std::uint64_t>(0.3 * static_cast<double>(steps - 1));
      BOOST_TEST(schedule.learning_rate(0) == first);
      BOOST_TEST(schedule.learning_rate(peak) == high);
      BOOST_TEST(schedule.learning_rate(steps - 1) == low);
      BOOST_TEST(schedule.learning_rate(steps + 7) == low);
      check_rises_and_falls(schedule, 0, peak, true);
      check_rises_and_falls(schedule, peak, steps - 1, false);
    }
  Schedule straight(options("warmup_cosine", 201)), curved(options("one_cycle", 201));
  BOOST_TEST(straight.learning_rate(15) == first * 0.75 + high * 0.25);
  BOOST_TEST(curved.learning_rate(15) < straight.learning_rate(15));
  BOOST_TEST(Schedule(options("one_cycle", 1)).learning_rate(0) == high);
  ScheduleOptions no_warmup = options("one_cycle", 50);
  no_warmup.warmup = 0;
  BOOST_TEST(Schedule(no_warmup).learning_rate(0) == high);
}

BOOST_AUTO_TEST_CASE(OPT_9_cyclic_goes_up_and_down_once_a_period) {
  for (std::uint64_t period : {2, 9, 100}) {
    Schedule schedule(options("cyclic", 1000, period));
    for (std::uint64_t cycle : {0, 3}) {
      BOOST_TEST(schedule.learning_rate(cycle * period) == low);
      BOOST_TEST(schedule.learning_rate(cycle * period + period / 2) == high);
      check_rises_and_falls(schedule, cycle * period, cycle * period + period / 2, true);
      check_rises_and_falls(schedule, cycle * period + period / 2, (cycle + 1) * period, false);
    }
  }
}

BOOST_AUTO_TEST_CASE(OPT_9_runs_and_periods_of_any_length_hit_their_rates_exactly) {
  for (std::uint64_t steps = 2; steps < 400; ++steps) {
    for (const char* kind : {"one_cycle", "warmup_cosine"}) {
      Schedule schedule(options(kind, steps));
      auto peak = static_cast<std::uint64_t>(0.3 * static_cast<double>(steps - 1));
      BOOST_TEST(schedule.learning_rate(0) == (peak == 0 ? high : first));
      BOOST_TEST(schedule.learning_rate(peak) == high);
      BOOST_TEST(schedule.learning_rate(steps - 1) == low);
    }
    for (std::uint64_t begin : {std::uint64_t{0}, 5 * steps}) {
      Schedule cosine(options("cosine", 9000, steps)), cyclic(options("cyclic", 9000, steps)),
          step(options("step", 9000, steps));
      BOOST_TEST(cosine.learning_rate(begin) == high);
      BOOST_TEST(cosine.learning_rate(begin + steps - 1) == low);
      BOOST_TEST(cyclic.learning_rate(begin) == low);
      BOOST_TEST(cyclic.learning_rate(begin + steps / 2) == high);
      BOOST_TEST(step.learning_rate(begin) == step.learning_rate(begin + steps - 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(OPT_9_options_outside_their_range_are_refused_by_name) {
  auto refused = [](auto change, const char* name) {
    ScheduleOptions wrong = options("one_cycle", 10);
    change(wrong);
    check_refused([&] { Schedule schedule(wrong); }, "OPT-9", name);
  };
  refused([](auto& o) { o.kind = "onecycle"; }, "\"onecycle\"");
  for (double rate : {0.0, -1.0, std::nan(""), HUGE_VAL})
    refused([=](auto& o) { o.learning_rate = rate; }, "learning_rate");
  refused([](auto& o) { o.steps = 0; }, "steps");
  for (double factor : {0.0, 1.5, std::nan("")}) refused([=](auto& o) { o.factor = factor; }, "factor");
  for (double warmup : {-0.1, 1.0, std::nan("")}) refused([=](auto& o) { o.warmup = warmup; }, "warmup");
  for (double start : {-0.1, 1.1}) refused([=](auto& o) { o.start = start; }, "start");
  for (double minimum : {-0.1, 1.1}) refused([=](auto& o) { o.minimum = minimum; }, "minimum");
}

BOOST_AUTO_TEST_SUITE_END()
