// IDX files: what is read, and every refusal.
#include <sys/resource.h>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <random>

#include "data/idx.hpp"
#include "data_files.hpp"

namespace {

using namespace assay;
using namespace assay::test;

const std::string elements = "\x01\x02\x03\x04\x05\xFF";
const std::string good = idx_bytes(0x08, {3, 2}, elements);

struct Files {
  Folder folder;
  std::string path = folder / "x";
  std::string refused(const std::string& bytes) {
    write_file(path, bytes);
    return refusal([&] { read_idx(path); });
  }
  std::string message(const std::string& expected, const std::string& found) {
    return "FILE-6: IDX file " + path + ": expected " + expected + ", found " + found;
  }
};

BOOST_FIXTURE_TEST_SUITE(data_idx, Files)

BOOST_AUTO_TEST_CASE(a_plain_and_a_gzip_file_give_the_same_array_and_the_digest_of_the_file_as_it_lies) {
  for (const std::string& bytes : {good, gzip(good)}) {
    write_file(path, bytes);
    const IdxArray array = read_idx(path);
    BOOST_TEST((array.shape == std::vector<std::int64_t>{3, 2}));
    BOOST_TEST((array.bytes == std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255}));
    BOOST_TEST(array.floats.empty());
    BOOST_TEST(array.path == path);
  }
  write_file(path, good);
  BOOST_TEST(read_idx(path).sha256 == "115af3cd7edf5ff1ccecd8e840aad834df18ae102f6532c4669a7b671f15dcc7");
}

BOOST_AUTO_TEST_CASE(float32_elements_are_big_endian) {
  write_file(path, idx_bytes(0x0D, {2},
                             big_endian(std::bit_cast<std::uint32_t>(1.5f)) +
                                 big_endian(std::bit_cast<std::uint32_t>(-0.25f))));
  BOOST_TEST((read_idx(path).floats == std::vector<float>{1.5f, -0.25f}));
}

BOOST_AUTO_TEST_CASE(an_array_without_elements_is_an_array) {
  write_file(path, idx_bytes(0x08, {0, 28}, ""));
  BOOST_TEST(read_idx(path).bytes.empty());
}

BOOST_AUTO_TEST_CASE(FILE_6_each_wrong_idx_header_is_refused_with_what_was_expected_and_found) {
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return refused(bytes);
  };
  BOOST_TEST(with(0, 0x50) == message("a magic number that begins with two zero bytes", "0x50 0x00"));
  BOOST_TEST(with(2, 0x0C) == message("elements of type 0x08 (unsigned byte) or 0x0d (float32)", "0x0c (int32)"));
  BOOST_TEST(with(2, 0x77) ==
             message("elements of type 0x08 (unsigned byte) or 0x0d (float32)", "0x77 (not a type of IDX)"));
  BOOST_TEST(with(3, 0) == message("1 to 8 dimensions", "0"));
  BOOST_TEST(with(3, 9) == message("1 to 8 dimensions", "9"));
  BOOST_TEST(with(7, 4) == message("8 bytes of elements after the header", "6 bytes"));
  BOOST_TEST(refused(idx_bytes(0x08, {0xFFFFFFFE, 2}, elements)) == message("dimension 0 not to be negative", "-2"));
  BOOST_TEST(refused(idx_bytes(0x08, {0x7FFFFFFF, 0x7FFFFFFF}, elements)) ==
             message("at most 1073741824 bytes of elements", "more, from dimension 0 = 2147483647"));
  BOOST_TEST(refused(idx_bytes(0x0D, {1 << 29}, elements)) ==
             message("at most 1073741824 bytes of elements", "more, from dimension 0 = 536870912"));
}

BOOST_AUTO_TEST_CASE(FILE_6_an_idx_file_cut_at_any_length_or_followed_by_a_byte_is_refused_by_name) {
  for (const std::string& bytes : {good, gzip(good)}) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string text = refused(bytes.substr(0, length));
      BOOST_TEST(text.starts_with("FILE-6: IDX file " + path + ": expected "), length << ": " << text);
    }
  }
  BOOST_TEST(refused(good.substr(0, 2)) == message("4 bytes of magic number", "2 bytes before the end"));
  BOOST_TEST(refused(good.substr(0, 10)) == message("4 bytes of dimension 1", "2 bytes before the end"));
  BOOST_TEST(refused(good + "x") == message("6 bytes of elements after the header", "7 bytes"));
  BOOST_TEST(refused(gzip(good + "x")) == message("the end of the file after the elements", "more bytes"));
  BOOST_TEST(refused(gzip(good) + "x") == message("the end of the file after the elements", "more bytes"));
  BOOST_TEST(refused(gzip(good) + gzip(good)) == message("the end of the file after the elements", "more bytes"));
  BOOST_TEST(refused(gzip(good.substr(0, 15))) == message("6 bytes of elements", "3 bytes before the end"));
  const std::string compressed = gzip(good);
  BOOST_TEST(refused(compressed.substr(0, compressed.size() - 1)) ==
             message("a complete gzip file", "one without its end"));
}

BOOST_AUTO_TEST_CASE(FILE_6_a_damaged_gzip_file_is_refused) {
  std::string bytes = gzip(good);
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  BOOST_TEST(refused(bytes) == message("a sound gzip file", "incorrect data check"));
}

BOOST_AUTO_TEST_CASE(FILE_6_a_path_that_is_no_regular_file_is_refused_without_waiting_for_it) {
  BOOST_TEST(refusal([] { read_idx("/nowhere/x"); }) ==
             "FILE-6: IDX file /nowhere/x: expected a readable file, found No such file or directory");
  BOOST_TEST(refusal([] { read_idx("/dev/zero"); }) ==
             "FILE-6: IDX file /dev/zero: expected a readable file, found no regular file");
}

BOOST_AUTO_TEST_CASE(FILE_6_a_small_gzip_file_that_promises_much_allocates_nothing_for_it) {
  const auto peak = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const std::string bomb = gzip(idx_bytes(0x08, {1 << 30}, std::string(1 << 20, 0)));
  const long before = peak();
  const std::string text = refused(bomb);
  BOOST_TEST(text == message("1073741824 bytes of elements after the header",
                             "a gzip file of " + std::to_string(bomb.size()) + " bytes, which cannot hold as many"));
  BOOST_TEST(peak() - before < 16 * 1024);
}

BOOST_AUTO_TEST_CASE(FILE_6_mutated_idx_files_give_an_error_or_an_array_that_fits_its_file) {
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = i % 2 ? good : gzip(good);
    for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
      if (bytes.empty()) bytes = "x";
    }
    write_file(path, bytes);
    try {
      const IdxArray array = read_idx(path);
      BOOST_TEST(array.bytes.size() + 4 * array.floats.size() <= 8u);
    } catch (const Error& error) {
      BOOST_TEST(error.id() == "FILE-6");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
