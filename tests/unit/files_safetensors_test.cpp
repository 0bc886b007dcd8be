// Safetensors files: what is written comes back, and what is damaged is refused before an array is made of it.
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "checkpoint/safetensors.hpp"
#include "files_support.hpp"

namespace {

using namespace assay;
using namespace assay::files_test;
using namespace std::string_literals;

Safetensors small_content() {
  return {{{"b.weight", Array::of<float>(std::vector<float>{1, -0.0f, 0.1f, 4, 5, 6}, {2, 3})},
           {"a.ü \"quoted\"", Array::of<double>(std::vector<double>{0.1}, {})},
           {"nothing", Array::of<float>(std::vector<float>{}, {0, 4})},
           {"also nothing", Array::of<std::int32_t>(std::vector<std::int32_t>{}, {0})},
           {"ids", Array::of(std::vector<std::int32_t>{-1, 7})},
           {"bytes", Array::of(std::vector<std::uint8_t>{1, 2, 255})},
           {"words", Array::of(std::vector<std::uint64_t>{~std::uint64_t{0}})}},
          {{"format", "pt"}, {"made by", "a tést"}}};
}

/// A file of a header and `size` bytes of values 0, 1, 2, …
std::string safetensors_bytes(const std::string& header, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  bytes += header;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i);
  return bytes;
}

struct SafetensorsFile {
  Folder folder;
  const std::string path = folder / "a.safetensors";

  Safetensors load(const std::string& bytes) {
    put_bytes(path, bytes);
    return load_safetensors(path);
  }
  /// Refused with exactly this behind the path.
  void refuses(const std::string& header, std::size_t size, const std::string& message) {
    put_bytes(path, safetensors_bytes(header, size));
    try {
      load_safetensors(path);
      BOOST_ERROR("was taken: " << header);
    } catch (const Error& error) {
      BOOST_TEST(error.what() == "FILE-6: safetensors file " + path + ": " + message);
    }
  }
};

BOOST_AUTO_TEST_SUITE(files_safetensors)

BOOST_FIXTURE_TEST_CASE(what_is_written_is_read_in_its_order_and_types_to_the_bit, SafetensorsFile) {
  save_safetensors(path, small_content());
  BOOST_TEST((load_safetensors(path) == small_content()));
  save_safetensors(folder / "again", small_content());
  BOOST_TEST((bytes_of(path) == bytes_of(folder / "again")));
  save_safetensors(path, {});
  BOOST_TEST((load_safetensors(path) == Safetensors{}));
}

BOOST_FIXTURE_TEST_CASE(the_bytes_are_those_of_the_format_with_values_at_multiples_of_8, SafetensorsFile) {
  save_safetensors(path, {{{"a", Array::of(std::vector<float>{1, 2})}}, {{"k", "v"}}});
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} )";
  BOOST_TEST((bytes_of(path) == safetensors_bytes(header, 0) + std::string("\0\0\x80\x3F\0\0\0\x40", 8)));
}

BOOST_FIXTURE_TEST_CASE(numpy_reads_what_is_written_and_what_numpy_writes_is_read, SafetensorsFile) {
  save_safetensors(path, small_content());
  const std::string program = R"(
import json, sys
import numpy as np
data = open(sys.argv[1], "rb").read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + length])
kinds = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "U8": "u1", "U64": "<u8"}
arrays = {}
assert header.pop("__metadata__") == {"format": "pt", "made by": "a tést"}
for name, entry in header.items():
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    arrays[name] = np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"])
assert list(arrays) == ["b.weight", 'a.ü "quoted"', "nothing", "also nothing", "ids", "bytes", "words"]
assert arrays["b.weight"].tobytes() == np.array([[1, -0.0, 0.1], [4, 5, 6]], "<f4").tobytes()
assert arrays['a.ü "quoted"'] == 0.1 and arrays["nothing"].shape == (0, 4)
assert arrays["ids"].tolist() == [-1, 7] and arrays["words"].tolist() == [2**64 - 1]

header, values = {}, b""
for name, dtype, array in (
    ("half", "F16", np.array([[0.5, -2], [65504, 2**-24]], "<f2")),
    ("long", "I64", np.array([-5, 2**31 - 1], "<i8")),
    ("flags", "BOOL", np.array([True, False])),
):
    header[name] = {"data_offsets": [len(values), len(values) + array.nbytes], "shape": array.shape, "dtype": dtype}
    values += array.tobytes()
text = json.dumps(header, indent=1).encode()
open(sys.argv[1], "wb").write(len(text).to_bytes(8, "little") + text + values)
)";
  BOOST_REQUIRE(python(folder, program, path) == 0);
  const Safetensors read = load_safetensors(path);
  BOOST_REQUIRE(read.arrays.size() == 3u);
  BOOST_TEST(
      (read.arrays[0] == NamedArray{"half", Array::of<float>(std::vector<float>{0.5, -2, 65504, 0x1p-24f}, {2, 2})}));
  BOOST_TEST((read.arrays[1] == NamedArray{"long", Array::of(std::vector<std::int32_t>{-5, 2147483647})}));
  BOOST_TEST((read.arrays[2] == NamedArray{"flags", Array::of(std::vector<std::uint8_t>{1, 0})}));
}

BOOST_FIXTURE_TEST_CASE(every_number_of_16_bits_is_widened_exactly, SafetensorsFile) {
  std::string all;
  for (int i = 0; i < 65536; ++i) all += {static_cast<char>(i), static_cast<char>(i >> 8)};
  const auto read = [&](const std::string& dtype) {
    const std::string header = R"({"x":{"dtype":")" + dtype + R"(","shape":[65536],"data_offsets":[0,131072]}})";
    return load(safetensors_bytes(header, 0) + all).arrays[0].array.values<float>();
  };
  const std::vector<float> halves = read("F16"), brains = read("BF16");
  for (unsigned i = 0; i < 65536; ++i) {
    BOOST_REQUIRE(std::bit_cast<std::uint32_t>(brains[i]) == i << 16);
    const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
    BOOST_REQUIRE(std::signbit(halves[i]) == (i >> 15 != 0));
    if (exponent == 31)
      BOOST_REQUIRE((fraction == 0 ? std::isinf(halves[i]) : std::isnan(halves[i])));
    else
      BOOST_REQUIRE(std::abs(halves[i]) ==
                    (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25)));
  }
}

BOOST_FIXTURE_TEST_CASE(values_may_lie_in_another_order_than_their_names, SafetensorsFile) {
  const Safetensors content = load(safetensors_bytes(
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"shape":[],"data_offsets":[0,1],"dtype":"U8"}}   )",
      3));
  BOOST_REQUIRE(content.arrays.size() == 2u);
  BOOST_TEST((content.arrays[0] == NamedArray{"a", Array::of<std::uint8_t>(std::vector<std::uint8_t>{0}, {})}));
  BOOST_TEST((content.arrays[1] == NamedArray{"b", Array::of(std::vector<std::uint8_t>{1, 2})}));
}

BOOST_FIXTURE_TEST_CASE(FILE_6_a_length_that_the_file_does_not_have_is_refused, SafetensorsFile) {
  const auto refused = [&](const std::string& bytes) { return refusal("FILE-6", {path}, [&] { load(bytes); }); };
  const std::string start = "FILE-6: safetensors file " + path + ": expected ";
  BOOST_TEST(refused("") == start + "a file of at least 8 bytes, found 0 bytes");
  BOOST_TEST(refused("\x02\0\0"s) == start + "a file of at least 8 bytes, found 3 bytes");
  BOOST_TEST(refused(safetensors_bytes("{}", 0).substr(0, 9)) == start + "a header of at most 1 bytes, found 2 bytes");
  BOOST_TEST(refused(std::string(8, '\xFF') + "{}") ==
             start + "a header of at most 2 bytes, found 18446744073709551615 bytes");
  std::string large = safetensors_bytes("{" + std::string(safetensors_header_limit, ' ') + "}", 0);
  BOOST_TEST(refused(large) == start + "a header of at most 4194304 bytes, found 4194306 bytes");
  refusal("FILE-6", {path, "No such file"}, [&] { std::filesystem::remove(path), load_safetensors(path); });
  refusal("FILE-6", {folder.path(), "no regular file"}, [&] { load_safetensors(folder.path()); });
}

BOOST_FIXTURE_TEST_CASE(FILE_6_a_header_of_another_form_is_refused, SafetensorsFile) {
  refuses("", 0, "expected a JSON header, found something else");
  refuses("{\"a\":", 0, "expected a JSON header, found something else");
  refuses("{}\0{"s, 0, "expected a JSON header, found something else");
  refuses("{\"\xFF\":1}", 0, "expected a JSON header, found something else");
  refuses("[]", 0, "expected a JSON object as header, found array");
  refuses("7", 0, "expected a JSON object as header, found number");
  const std::string deep = "expected a JSON header of tensors, with types and lists of numbers, found deeper levels";
  refuses(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, deep);
  refuses(std::string(1 << 20, '['), 0, deep);
  std::string objects;
  for (int i = 0; i < 1 << 18; ++i) objects += "{\"a\":";
  refuses(objects, 0, deep);
  refuses(R"({"__metadata__":[]})", 0, "expected an object of strings as __metadata__, found array");
  refuses(R"({"__metadata__":{"a":"b","c":1}})", 0, "expected a string as \"c\" of __metadata__, found number");
}

BOOST_FIXTURE_TEST_CASE(FILE_6_a_name_or_key_that_comes_twice_is_refused, SafetensorsFile) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  refuses("{\"a\":" + entry + ",\"b\":" + entry + ",\"a\":" + entry + "}", 0,
          "expected every key of the header once, found \"a\" again");
  refuses(R"({"a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,1]}})", 1,
          "expected every key of the header once, found \"dtype\" again");
  refuses("{\"\":" + entry + "}", 0, "expected names of tensors, found an empty one");
}

BOOST_FIXTURE_TEST_CASE(FILE_6_what_is_said_of_a_tensor_is_refused_with_its_name, SafetensorsFile) {
  const auto refuses_entry = [&](const std::string& entry, std::size_t size, const std::string& message) {
    refuses("{\"a.b\":" + entry + "}", size, "tensor \"a.b\": expected " + message);
  };
  const std::string parts = "an object of dtype, shape and data_offsets, found ";
  refuses_entry("1", 0, parts + "1");
  refuses_entry(R"({"dtype":"U8","shape":[1]})", 1, parts + R"({"dtype":"U8","shape":[1]})");
  refuses_entry(R"({"dtype":"U8","shape":[1],"data_offset":[0,1]})", 1,
                parts + R"({"data_offset":[0,1],"dtype":"U8","shape":[1]})");
  const std::string known = "a dtype of F32, F64, I32, U8, U64, F16, BF16, I64, BOOL, found ";
  refuses_entry(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]})", 1, known + "\"F8_E4M3\"");
  refuses_entry(R"({"dtype":3,"shape":[1],"data_offsets":[0,1]})", 1, known + "3");
  const std::string numbers = " of integers from 0 to 2^63 - 1, found ";
  refuses_entry(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", 1, "shape" + numbers + "-1");
  refuses_entry(R"({"dtype":"U8","shape":[1.5],"data_offsets":[0,1]})", 1, "shape" + numbers + "1.5");
  refuses_entry(R"({"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]})", 1,
                "shape" + numbers + "9223372036854775808");
  refuses_entry(R"({"dtype":"U8","shape":[1],"data_offsets":["0",1]})", 1, "data_offsets" + numbers + "\"0\"");
  refuses_entry(R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", 1, "a list as shape, found 1");
  refuses_entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0,
                "a shape whose size fits 64 bits, found [4294967296, 4294967296]");
  refuses_entry(R"({"dtype":"U8","shape":[3],"data_offsets":[0,3]})", 2,
                "data_offsets [begin, end] within 2 bytes, found [0,3]");
  refuses_entry(R"({"dtype":"U8","shape":[3],"data_offsets":[3,0]})", 3,
                "data_offsets [begin, end] within 3 bytes, found [3,0]");
  refuses_entry(R"({"dtype":"U8","shape":[3],"data_offsets":[0,3,3]})", 3,
                "data_offsets [begin, end] within 3 bytes, found [0,3,3]");
  refuses_entry(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,23]})", 24,
                "24 bytes of F32 [2, 3], found data_offsets of 23");
  refuses_entry(R"({"dtype":"F32","shape":[0,3],"data_offsets":[0,4]})", 4,
                "0 bytes of F32 [0, 3], found data_offsets of 4");
  put_bytes(path, safetensors_bytes(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8));
  refusal("FILE-6", {path, "tensor \"a\"", "values of I64 that int32 holds", "found 506097522914230528"},
          [&] { load_safetensors(path); });
}

BOOST_FIXTURE_TEST_CASE(FILE_6_values_that_overlap_or_leave_a_hole_are_refused, SafetensorsFile) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  BOOST_TEST(load(safetensors_bytes(two("[0,2]", "[2,4]"), 4)).arrays.size() == 2u);
  const std::string end = ", where the values before it end, found ";
  refuses(two("[0,2]", "[1,3]"), 3, "tensor \"b\": expected data_offsets from 2" + end + "1");
  refuses(two("[0,2]", "[0,2]"), 2, "tensor \"b\": expected data_offsets from 2" + end + "0");
  refuses(two("[0,2]", "[3,5]"), 5, "tensor \"b\": expected data_offsets from 2" + end + "3");
  refuses(two("[1,3]", "[3,5]"), 5, "tensor \"a\": expected data_offsets from 0" + end + "1");
  refuses(two("[0,2]", "[2,4]"), 5, "expected 4 bytes after the header, as data_offsets say, found 5");
  refuses("{}", 1, "expected 0 bytes after the header, as data_offsets say, found 1");
}

BOOST_FIXTURE_TEST_CASE(FILE_6_mutated_files_give_an_error_or_arrays_that_the_file_can_hold, SafetensorsFile) {
  save_safetensors(path, small_content());
  const std::string good = bytes_of(path);
  const std::string words[] = {"[",
                               "]",
                               "{",
                               "}",
                               "\"",
                               ",",
                               ":",
                               "0",
                               "-1",
                               "1e9",
                               "18446744073709551615",
                               "null",
                               "\"F64\"",
                               "\"BF16\"",
                               "\"I64\"",
                               "\"shape\"",
                               "[0,0]",
                               "__metadata__",
                               "\\u0000"};
  std::mt19937_64 random(20260101);
  int taken = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % bad.size();
      switch (random() % 5) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, 1 + random() % 8);
          break;
        case 2:
          bad.insert(at, words[random() % std::size(words)]);
          break;
        case 3:
          bad.replace(at, 1 + random() % 4, words[random() % std::size(words)]);
          break;
        default:
          bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
      }
      if (bad.empty()) bad = "x";
    }
    if (random() % 2 == 0 && bad.size() >= 8) {  // a length that is right for the header as it is now
      const std::size_t end = bad.rfind('}');
      const std::uint64_t length = end == std::string::npos || end < 8 ? 0 : end - 7;
      std::memcpy(bad.data(), &length, 8);
    }
    try {
      std::size_t size = 0;
      for (const NamedArray& entry : load(bad).arrays) {
        BOOST_REQUIRE(entry.array.bytes.size() == shape_count(entry.array.shape) * element_size(entry.array.type));
        size += entry.array.bytes.size();
      }
      BOOST_REQUIRE(size <= 2 * bad.size());
      ++taken;
    } catch (const Error& error) {
      BOOST_REQUIRE(error.id() == "FILE-6");
      BOOST_REQUIRE(std::string(error.what()).find(path) != std::string::npos);
    }
  }
  BOOST_TEST(taken > 50);
  BOOST_TEST(taken < 4000);
}

BOOST_FIXTURE_TEST_CASE(FILE_3_names_that_no_file_can_have_are_refused_and_nothing_is_written, SafetensorsFile) {
  const Array one = Array::of(std::vector<float>{1});
  const auto refused = [&](const std::vector<NamedArray>& arrays, const std::string& rest) {
    const std::string text = refusal("FILE-3", {}, [&] { save_safetensors(path, {.arrays = arrays}); });
    BOOST_TEST(text == "FILE-3: write " + path + ": expected " + rest);
  };
  refused({{"a", one}, {"a", one}}, "every name once, found \"a\"");
  refused({{"", one}}, "names of tensors, found \"\"");
  refused({{"__metadata__", one}}, "names of tensors, found \"__metadata__\"");
  refused({{"\xFF", one}}, "names and metadata in UTF-8, found other bytes");
  BOOST_TEST(files_in(folder.path()) == 0u);
}

BOOST_FIXTURE_TEST_CASE(FILE_2_a_file_that_does_not_fit_leaves_the_one_before, SafetensorsFile) {
  save_safetensors(path, small_content());
  const std::string before = bytes_of(path);
  const int code = in_child([&] {
    const rlimit size{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &size);
    refusal("FILE-2", {path, "File too large"}, [&] {
      save_safetensors(path, {{{"a", Array::of(std::vector<float>(1000))}}});
    });
    return bytes_of(path) == before && files_in(folder.path()) == 1;
  });
  BOOST_TEST(code == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
