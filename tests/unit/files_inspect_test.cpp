// Describing files, sealed ones here, foreign and hostile ones in a limited child process.
#include <boost/test/unit_test.hpp>
#include <random>
#include <sstream>

#include "checkpoint/inspect.hpp"
#include "files_support.hpp"

BOOST_AUTO_TEST_SUITE(files_inspect)

using namespace assay;
using namespace assay::files_test;

std::string described(const std::string& path) {
  std::ostringstream out;
  describe(path, out);
  return out.str();
}

void check_has(const std::string& text, const std::vector<std::string>& pieces) {
  for (const std::string& piece : pieces)
    BOOST_TEST(text.find(piece) != std::string::npos, text << " has no " << piece);
}

BOOST_AUTO_TEST_CASE(FILE_8_a_checkpoint_is_described_by_names_shapes_types_and_digests) {
  Folder folder;
  save_checkpoint(folder / "a.h5", small_checkpoint(5));
  check_has(described(folder / "a.h5"),
            {"every byte verified, SHA-256", "@format = \"assay-checkpoint\"",
             "  parameters/\n    fc2.weight  float32 [2, 3]", "axes = \"OI\", version = 3, digest = 0x",
             "fc2.bias  float32 [0, 4]", "fc1.scale  float32 []", "toml  text []", "@note = \"é\"",
             "@beta1_power = 0.10000000000000001"});
}

BOOST_AUTO_TEST_CASE(FILE_6_a_damaged_sealed_file_is_not_described) {
  Folder folder;
  save_checkpoint(folder / "a.h5", small_checkpoint(5));
  std::string bytes = bytes_of(folder / "a.h5");
  bytes[3000] ^= 1;
  put_bytes(folder / "a.h5", bytes);
  refusal("FILE-6", {folder / "a.h5", "SHA-256"}, [&] { described(folder / "a.h5"); });
}

BOOST_AUTO_TEST_CASE(FILE_6_a_foreign_file_is_described_by_a_child_and_what_is_no_hdf5_is_refused) {
  Folder folder;
  const int code = python(folder, R"(
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], 'w') as f:
    f['group/half'] = np.zeros((2, 3), np.float16)
    f['group/half'].attrs['text'] = np.bytes_('fixed')
    f['group/half'].attrs['list'] = [1, 2]
    f['pairs'] = np.zeros(2, dtype=[('a', 'i4'), ('b', 'f8')])
    f['names'] = ['one', 'two']
    f['huge'] = h5py.Empty('f4')
    f['group/up'] = f['/']
    f['soft'] = h5py.SoftLink('/nowhere')
    f['out'] = h5py.ExternalLink('/etc/passwd', '/x')
    f.attrs['control'] = 'a\x1b[31mb'
)",
                          folder / "foreign.h5");
  BOOST_REQUIRE(code == 0);
  check_has(described(folder / "foreign.h5"),
            {"not sealed", "half  float16 [2, 3]", "text = \"fixed\"", "list = (not a single", "pairs  compound [2]",
             "names  text [2]", "soft  (link)", "out  (link)", "a\\x1b[31mb", "up/"});
  put_bytes(folder / "text.h5", "no HDF5 at all");
  refusal("FILE-6", {folder / "text.h5", "HDF5"}, [&] { described(folder / "text.h5"); });
  refusal("FILE-6", {folder / "none.h5", "No such file"}, [&] { described(folder / "none.h5"); });
}

BOOST_AUTO_TEST_CASE(FILE_6_mutated_foreign_files_never_take_the_process_down) {
  Folder folder;
  save_checkpoint(folder / "a.h5", small_checkpoint(5));
  const std::string good = bytes_of(folder / "a.h5").substr(512);
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    for (int flips = 0; flips < 4; ++flips) bad[random() % bad.size()] = static_cast<char>(random());
    put_bytes(folder / "b.h5", bad);
    try {
      described(folder / "b.h5");
    } catch (const Error& error) {
      BOOST_TEST(error.id() == "FILE-6");
      ++refused;
    }
  }
  BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_SUITE_END()
