// Comparing the steps of two trainings, bit by bit.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "checkpoint/run_table.hpp"

namespace assay::test {

/// Fails naming the first kinds of digests that differ.
inline void check_same_step(const StepRow& a, const StepRow& b, const std::string& what) {
  std::string step = what + ", step " + std::to_string(a.step);
  BOOST_TEST(a.step == b.step, step << " and step " << b.step);
  BOOST_TEST(a.ids_digest == b.ids_digest, step << ": sample ids");
  BOOST_TEST(a.learning_rate == b.learning_rate, step << ": learning rate");
  BOOST_TEST(a.masks == b.masks, step << ": masks");
  BOOST_TEST(a.loss_digest == b.loss_digest, step << ": loss " << a.loss << " and " << b.loss);
  BOOST_TEST(a.gradients == b.gradients, step << ": gradients");
  BOOST_TEST(a.gradient_norm == b.gradient_norm, step << ": gradient norm");
  BOOST_TEST(a.optimiser == b.optimiser, step << ": optimiser");
  BOOST_TEST(a.parameters == b.parameters, step << ": parameters");
}

}  // namespace assay::test
