// A folder for the files of a test.
#pragma once

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

namespace assay::test {

/// A fresh folder that lives as long as the object; in memory where there is such a place, because files are synced
/// often.
class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/assay-files-XXXXXX";
    if (!::mkdtemp(name.data())) {
      name = (std::filesystem::temp_directory_path() / "assay-files-XXXXXX").string();
      BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    }
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace assay::test
