// The curves of the learning rate.
#include "optim/schedule.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "numerics/cos.hpp"
#include "numerics/scalar.hpp"

namespace assay {
namespace {

struct Ends {
  double from, to;
};

double share(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }
double mixed(Ends ends, double c) { return ends.from * c + ends.to * (1 - c); }
double straight(Ends ends, double x) { return mixed(ends, 1 - x); }
double curved(Ends ends, double x) { return mixed(ends, (1 + numerics::cosine(0x1.921fb54442d18p+1 * x)) / 2); }

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  auto require = [](bool valid, const char* option, const char* expected, const auto& found) {
    if (!valid && !sabotaged("schedule_takes_any_option"))
      throw Error("OPT-9", std::string("schedule, ") + option, expected, found);
  };
  auto number = [](double value) { return std::to_string(value); };
  auto is_share = [](double value) { return value >= 0 && value <= 1; };
  const ScheduleOptions& o = options_;
  bool known = false;
  for (const char* kind : {"constant", "step", "cosine", "one_cycle", "warmup_cosine", "cyclic"})
    known = known || o.kind == kind;
  require(known, "kind", "constant, step, cosine, one_cycle, warmup_cosine or cyclic", "\"" + o.kind + "\"");
  require(o.learning_rate > 0 && o.learning_rate - o.learning_rate == 0, "learning_rate", "a finite number above 0",
          number(o.learning_rate));
  require(o.steps > 0, "steps", "at least 1", "0");
  require(o.factor > 0 && o.factor <= 1, "factor", "above 0, at most 1", number(o.factor));
  require(o.warmup >= 0 && o.warmup < 1, "warmup", "at least 0, below 1", number(o.warmup));
  require(is_share(o.start), "start", "0 to 1", number(o.start));
  require(is_share(o.minimum), "minimum", "0 to 1", number(o.minimum));
}

double Schedule::learning_rate(std::uint64_t step) const {
  const ScheduleOptions& o = options_;
  const double high = o.learning_rate, first = o.start * high, low = o.minimum * high;
  const std::uint64_t period = o.period == 0 ? o.steps : o.period, place = step % period;
  if (o.kind == "step") return high * numerics::power(o.factor, step / period);
  if (o.kind == "cosine")
    return place == 0 ? high
                      : curved({high, low}, share(place, sabotaged("schedule_misses_its_end") ? period : period - 1));
  if (o.kind == "cyclic") {
    const std::uint64_t peak = period / 2;
    return place < peak ? straight({low, high}, share(place, peak))
                        : straight({high, low}, share(place - peak, period - peak));
  }
  if (o.kind == "one_cycle" || o.kind == "warmup_cosine") {
    const std::uint64_t last = o.steps - 1, peak = static_cast<std::uint64_t>(o.warmup * static_cast<double>(last));
    if (step < peak) return (o.kind == "one_cycle" ? curved : straight)({first, high}, share(step, peak));
    if (step == peak && !sabotaged("schedule_misses_its_peak")) return high;
    return step >= last ? low : curved({high, low}, share(step - peak, last - peak));
  }
  return high;
}

}  // namespace assay
