// The entry of every test program.
#define BOOST_TEST_MODULE assay
#include "support/verdicts.hpp"

using assay::test::Verdicts;
BOOST_TEST_GLOBAL_FIXTURE(Verdicts);
