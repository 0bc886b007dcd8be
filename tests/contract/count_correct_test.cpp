// Contract of count_correct.
#include "kernels/count_correct.hpp"

#include <limits>

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;
using kernels::count_correct;

namespace {

Tensor labels_of(const std::vector<std::int32_t>& labels, Device device = cpu) {
  return Tensor::from(labels, {static_cast<std::int64_t>(labels.size())}, device);
}

}  // namespace

CONTRACT(LAYER_3_the_lowest_index_of_the_maximum_is_the_answer_on_every_device) {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::vector<float> logits;
    std::int32_t answer;
  };
  for (const Case& row : {Case{{1, 3, 2}, 1}, Case{{5, 5, 5}, 0}, Case{{0, 7, 7}, 1}, Case{{infinity, nan, nan}, 1},
                          Case{{-0.0f, 0.0f, -1}, 1}, Case{{-infinity, -infinity, -infinity}, 0}})
    for (Device where : {device, reference_device})
      for (std::int32_t label : {0, 1, 2})
        BOOST_TEST(
            count_correct(Tensor::from(row.logits, {1, 3}, where), labels_of({label}, where)) == (label == row.answer),
            "label " << label << ", answer " << row.answer << " on " << to_string(where));
}

CONTRACT(NUM_4_the_count_is_the_same_for_views_and_as_the_oracle_says) {
  for (std::int64_t classes : {1, 10, 33}) {
    Tensor logits = drawn({257, classes}, 1, device);
    std::vector<std::int32_t> labels;
    for (std::int64_t row = 0; row < 257; ++row)
      labels.push_back(row % 5 == 0 ? -100 : static_cast<std::int32_t>(row % classes));
    std::int64_t expected = count_correct(logits.to(reference_device), labels_of(labels, reference_device));
    BOOST_TEST(expected > 0);
    BOOST_TEST(count_correct(logits, labels_of(labels, device)) == expected);
    BOOST_TEST(count_correct(strided(logits), labels_of(labels, device)) == expected);
  }
  BOOST_TEST(count_correct(drawn({0, 3}, 1, device), labels_of({}, device)) == 0);
}

CONTRACT(LAYER_3_count_correct_refuses_other_shapes_and_labels_out_of_range) {
  check_refused(
      [&] {
        count_correct(drawn({2, 3}, 1, device), labels_of({1}, device));
      },
      "LAYER-3", "found [2, 3] and [1]");
  check_refused(
      [&] {
        count_correct(drawn({2, 3}, 1, device), labels_of({1, 3}, device));
      },
      "LAYER-3", "count_correct: expected a label in row 1 from 0 to 2, or -100 for none, found 3");
}
