// Sealed files: written whole or not at all, and refused when any byte is wrong.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "checkpoint/sealed_file.hpp"
#include "files_support.hpp"

BOOST_AUTO_TEST_SUITE(files_seal)

using namespace assay;
using namespace assay::files_test;

BOOST_AUTO_TEST_CASE(FILE_6_any_flipped_byte_of_a_checkpoint_is_refused_by_name) {
  Folder folder;
  const std::string path = folder / "step-00000005.h5";
  save_checkpoint(path, small_checkpoint(5));
  const std::string good = bytes_of(path);
  std::mt19937_64 random(1);
  auto check_flip = [&](std::size_t at, int flip) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ flip);
    put_bytes(path, bad);
    try {
      load_checkpoint(path);
      BOOST_ERROR("byte " << at << " flipped by " << flip << " was not seen");
    } catch (const Error& error) {
      BOOST_TEST(error.id() == "FILE-6");
      BOOST_TEST(std::string(error.what()).find(path) != std::string::npos);
    }
  };
  for (std::size_t at = 0; at < seal_size; ++at) check_flip(at, 1 << (at % 8));
  for (int i = 0; i < 1000; ++i) check_flip(random() % good.size(), 1 + static_cast<int>(random() % 255));
  put_bytes(path, good);
  BOOST_TEST((load_checkpoint(path) == small_checkpoint(5)));
}

BOOST_AUTO_TEST_CASE(FILE_6_a_file_cut_or_lengthened_anywhere_is_refused_by_name) {
  Folder folder;
  const std::string path = folder / "step-00000005.h5";
  save_checkpoint(path, small_checkpoint(5));
  const std::string good = bytes_of(path);
  for (std::size_t length = 0; length < good.size();
       length += length < 2 * seal_size || length + 64 > good.size() ? 1 : 61) {
    put_bytes(path, good.substr(0, length));
    refusal("FILE-6", {path, length < seal_size ? "at least 512 bytes" : "bytes after the first block"},
            [&] { load_checkpoint(path); });
  }
  put_bytes(path, good + '\0');
  refusal("FILE-6", {path, std::to_string(good.size() - seal_size)}, [&] { load_checkpoint(path); });
}

BOOST_AUTO_TEST_CASE(FILE_6_each_part_of_the_block_is_refused_with_expected_and_found) {
  Folder folder;
  const std::string path = folder / "a.h5";
  write_sealed(path, [](hdf5::Group&) {});
  const std::string good = bytes_of(path);
  auto with = [&](std::size_t at, char value) {
    std::string bad = good;
    bad[at] = value;
    put_bytes(path, bad);
  };
  with(0, 'B');
  refusal("FILE-6", {"ASSAYH5", "0x42"}, [&] { open_sealed(path); });
  with(8, 2);
  refusal("FILE-6", {"version 1", "found 2"}, [&] { open_sealed(path); });
  with(13, 1);
  refusal("FILE-6", {"zero in the unused bytes"}, [&] { open_sealed(path); });
  with(511, 1);
  refusal("FILE-6", {"zero in the unused bytes"}, [&] { open_sealed(path); });
  with(24, static_cast<char>(good[24] ^ 1));
  refusal("FILE-6", {"SHA-256"}, [&] { open_sealed(path); });
  refusal("FILE-6", {"No such file"}, [&] { open_sealed(folder / "none.h5"); });
  refusal("FILE-6", {"no regular file"}, [&] { open_sealed(folder.path()); });
}

BOOST_AUTO_TEST_CASE(FILE_2_a_full_disk_leaves_the_previous_file_and_nothing_else) {
  Folder folder;
  const std::string path = folder / "step-00000005.h5";
  save_checkpoint(path, small_checkpoint(5));
  const std::string before = bytes_of(path);
  Checkpoint large = small_checkpoint(5);
  large.parameters.push_back(parameter("large", std::vector<float>(10000, 1), {10000}));
  for (rlim_t limit : {0, 100, 512, 4096, 40000}) {
    const int code = in_child([&] {
      const rlimit size{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &size);
      try {
        save_checkpoint(path, large);
      } catch (const Error& error) {
        const std::string text = error.what();
        return error.id() == "FILE-2" && text.find(path) != std::string::npos &&
               text.find("File too large") != std::string::npos;
      }
      return false;
    });
    BOOST_TEST(code == 0, "limit " << limit);
    BOOST_TEST(bytes_of(path) == before);
    BOOST_TEST(files_in(folder.path()) == 1u);
  }
}

BOOST_AUTO_TEST_CASE(FILE_2_a_folder_that_cannot_be_written_is_named) {
  auto write = [](const std::string& path) { write_sealed(path, [](hdf5::Group&) {}); };
  refusal("FILE-2", {"/proc/none.h5"}, [&] { write("/proc/none.h5"); });
  Folder folder;
  refusal("FILE-2", {"No such file"}, [&] { write(folder / "none/a.h5"); });
  std::filesystem::create_directory(folder / "a.h5");
  refusal("FILE-2", {"Is a directory"}, [&] { write(folder / "a.h5"); });
  BOOST_TEST(files_in(folder.path()) == 1u);
}

BOOST_AUTO_TEST_CASE(FILE_2_an_error_while_the_content_is_made_changes_nothing) {
  Folder folder;
  refusal("FILE-3", {"/x"}, [&] {
    write_sealed(folder / "a.h5", [](hdf5::Group& root) {
      root.write_string("x", "one");
      root.write_string("x", "two");
    });
  });
  BOOST_TEST(files_in(folder.path()) == 0u);
}

BOOST_AUTO_TEST_CASE(FILE_5_equal_content_gives_equal_bytes_at_any_time) {
  Folder folder;
  save_checkpoint(folder / "a.h5", small_checkpoint(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 would record times in seconds
  const int code = in_child([&] {
    std::vector<char*> dirt;
    for (int i = 0; i < 1000; ++i) std::fill_n(dirt.emplace_back(new char[5000]), 5000, static_cast<char>(i));
    for (char* piece : dirt) delete[] piece;
    save_checkpoint(folder / "b.h5", small_checkpoint(5));
    return true;
  });
  BOOST_TEST(code == 0);
  BOOST_TEST((bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5")));
}

BOOST_AUTO_TEST_CASE(FILE_3_a_file_that_is_replaced_while_open_still_reads_as_it_was_checked) {
  Folder folder;
  auto write = [&](const std::string& text) {
    write_sealed(folder / "a.h5", [&](hdf5::Group& root) { root.set("text", text); });
  };
  write("one");
  SealedFile first = open_sealed(folder / "a.h5");
  write("two");
  SealedFile second = open_sealed(folder / "a.h5");
  BOOST_TEST(first.root.get_string("text") == "one");
  BOOST_TEST(second.root.get_string("text") == "two");
}

BOOST_AUTO_TEST_SUITE_END()
