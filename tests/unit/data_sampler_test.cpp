// Sampler: the data order as a function of (key, epoch, position).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "data/sampler.hpp"
#include "data_files.hpp"

namespace {

using namespace assay;

std::vector<std::int64_t> ids(Sampler& sampler, std::int64_t step) {
  const std::span<const std::int64_t> batch = sampler.batch(step);
  return {batch.begin(), batch.end()};
}

std::vector<std::int64_t> epoch_ids(std::uint64_t key, std::int64_t epoch, std::int64_t samples, std::int64_t batch) {
  Sampler sampler(key, samples, batch);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 1; i <= sampler.steps_per_epoch(); ++i) {
    const std::vector<std::int64_t> some = ids(sampler, epoch * sampler.steps_per_epoch() + i);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

BOOST_AUTO_TEST_SUITE(data_sampler)

BOOST_AUTO_TEST_CASE(an_epoch_visits_every_sample_once_with_the_rest_in_its_last_batch) {
  for (std::int64_t samples : {1, 2, 31, 32, 33, 257}) {
    for (std::int64_t batch : {1, 2, 32, 300}) {
      Sampler sampler(7, samples, batch);
      BOOST_TEST(sampler.steps_per_epoch() == (samples + batch - 1) / batch);
      const std::int64_t last = sampler.steps_per_epoch();
      BOOST_TEST(std::ssize(ids(sampler, last)) == samples - (last - 1) * batch);
      for (std::int64_t epoch : {0, 3}) {
        std::vector<std::int64_t> all = epoch_ids(7, epoch, samples, batch),
                                  expected(static_cast<std::size_t>(samples));
        std::sort(all.begin(), all.end());
        std::iota(expected.begin(), expected.end(), 0);
        BOOST_TEST(all == expected, boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(FILE_1_the_batch_of_a_step_does_not_depend_on_the_steps_asked_for_before) {
  Sampler forward(11, 100, 7);
  std::vector<std::vector<std::int64_t>> batches;
  for (std::int64_t step = 1; step <= 60; ++step) batches.push_back(ids(forward, step));
  for (std::int64_t step : {60, 1, 31, 16, 15, 14, 45}) {
    Sampler fresh(11, 100, 7);
    BOOST_TEST(ids(fresh, step) == batches[static_cast<std::size_t>(step - 1)]);
    BOOST_TEST(ids(forward, step) == batches[static_cast<std::size_t>(step - 1)]);
  }
}

BOOST_AUTO_TEST_CASE(the_order_changes_with_the_epoch_and_the_key_but_not_with_the_batch) {
  const std::vector<std::int64_t> order = epoch_ids(1, 0, 1000, 10);
  BOOST_TEST((epoch_ids(1, 1, 1000, 10) != order));
  BOOST_TEST((epoch_ids(2, 0, 1000, 10) != order));
  BOOST_TEST((epoch_ids(1, 0, 1000, 33) == order));
}

BOOST_AUTO_TEST_CASE(a_step_has_its_place_in_the_run) {
  const Sampler sampler(1, 10, 4);  // three steps an epoch
  for (auto [step, epoch, position] : {std::array{1, 0, 0}, {3, 0, 2}, {4, 1, 0}, {9, 2, 2}}) {
    BOOST_TEST(sampler.place(step).epoch == epoch);
    BOOST_TEST(sampler.place(step).position == position);
  }
}

BOOST_AUTO_TEST_CASE(RUN_3_a_sampler_without_samples_batch_or_step_is_refused) {
  using assay::test::refusal;
  BOOST_TEST(refusal([] { Sampler(1, 0, 4); }) == "RUN-3: sampler: expected at least 1 sample, found 0");
  BOOST_TEST(refusal([] { Sampler(1, 4, 0); }) == "RUN-3: sampler: expected a batch of at least 1 sample, found 0");
  BOOST_TEST(refusal([] { Sampler(1, 4, 4).batch(0); }) == "RUN-3: sampler: expected a step of at least 1, found 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
