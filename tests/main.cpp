// The entry of every test program.
#define BOOST_TEST_MODULE assay
#include <boost/test/unit_test.hpp>
