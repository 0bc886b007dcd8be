// Numbers as verdicts show them.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

std::string digest_text(std::uint64_t digest);  ///< 16 hexadecimal digits
std::string number_text(double value);          ///< short, and exact: reads back as the same number
std::string short_text(double value);           ///< three digits
std::string ulp_text(std::uint64_t ulps);       ///< "NaN" for the distance of a number and a NaN

}  // namespace assay
