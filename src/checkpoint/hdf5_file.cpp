// Creating and opening HDF5 files, in memory and on disk; the library's error messages.
#include <hdf5.h>

#include <atomic>

#include "base/error.hpp"
#include "checkpoint/hdf5.hpp"
#include "checkpoint/hdf5_check.hpp"

namespace assay::hdf5 {
namespace {

extern "C" herr_t keep_first_message(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0) *static_cast<std::string*>(text) = error->desc ? error->desc : "";
  return 0;
}

std::string last_message() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first_message, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "an error without a message" : text;
}

Handle property_list(hid_t kind) {
  silence();
  return Handle(check(H5Pcreate(kind), "property list", "create"), H5Pclose);
}

/// A name that is on no disk: the library opens no image whose name exists as a file, and takes two open images of one
/// name for the same file.
std::string image_name() {
  static std::atomic<unsigned long> count{0};
  return "/dev/null/" + std::to_string(++count);
}

Handle in_memory_access(const std::string& name) {
  Handle access = property_list(H5P_FILE_ACCESS);
  check(H5Pset_fapl_core(access.id(), std::size_t{1} << 20, false), name, "open in memory");
  return access;
}

/// The bytes of a file that is only read; the property lists that lead to it and the open file own it together.
struct Image {
  SharedBytes bytes;
  std::size_t owners = 0;
};

extern "C" void* add_owner(void* image) {
  ++static_cast<Image*>(image)->owners;
  return image;
}
extern "C" herr_t remove_owner(void* image) {
  if (--static_cast<Image*>(image)->owners == 0) delete static_cast<Image*>(image);
  return 0;
}
extern "C" void* share_memory(std::size_t size, H5FD_file_image_op_t why, void* image) {
  std::vector<std::byte>& bytes = *static_cast<Image*>(image)->bytes;
  if (size != bytes.size()) return nullptr;
  if (why == H5FD_FILE_IMAGE_OP_FILE_OPEN) add_owner(image);
  return bytes.data();
}
extern "C" void* copy_nothing(void* to, const void* from, std::size_t, H5FD_file_image_op_t, void*) {
  return to == from ? to : nullptr;
}
extern "C" void* refuse_to_grow(void*, std::size_t, H5FD_file_image_op_t, void*) { return nullptr; }
extern "C" herr_t release_memory(void*, H5FD_file_image_op_t why, void* image) {
  return why == H5FD_FILE_IMAGE_OP_FILE_CLOSE ? remove_owner(image) : 0;
}

Group root_of(std::int64_t file, const std::string& name) {
  return Group(Handle(check(H5Gopen2(file, "/", H5P_DEFAULT), name, "open root of"), H5Gclose), name, "/");
}

Handle create(const std::string& name, std::uint64_t user_block) {
  Handle access = in_memory_access(name);
  Handle creation = property_list(H5P_FILE_CREATE);
  constexpr unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check(H5Pset_userblock(creation.id(), user_block), name, "reserve the user block of");
  check(H5Pset_link_creation_order(creation.id(), order), name, "track creation order in");
  check(H5Pset_attr_creation_order(creation.id(), order), name, "track creation order in");
  check(H5Pset_obj_track_times(creation.id(), false), name, "leave times out of");
  return Handle(check(H5Fcreate(image_name().c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), name, "create"),
                H5Fclose);
}

}  // namespace

void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::int64_t check(std::int64_t result, const std::string& object, const char* doing) {
  if (result < 0)
    throw Error("FILE-3", std::string(doing) + " " + object, "success of HDF5", "\"" + last_message() + "\"");
  return result;
}

MemoryFile::MemoryFile(Handle file, const std::string& name)
    : file_(std::move(file)), root_(root_of(file_.id(), name)) {}

MemoryFile::MemoryFile(const std::string& name, std::uint64_t user_block)
    : MemoryFile(create(name, user_block), name) {}

std::vector<std::byte> MemoryFile::close() {
  std::string name = root_.where();
  check(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL), name, "flush");
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(check(H5Fget_file_image(file_.id(), nullptr, 0), name, "measure")));
  check(H5Fget_file_image(file_.id(), bytes.data(), bytes.size()), name, "take the bytes of");
  return bytes;
}

Group open_bytes(const std::string& name, const SharedBytes& bytes) {
  Handle access = in_memory_access(name);
  auto image = std::make_unique<Image>(Image{bytes});
  H5FD_file_image_callbacks_t callbacks{share_memory, copy_nothing, refuse_to_grow, release_memory,
                                        add_owner,    remove_owner, image.get()};
  check(H5Pset_file_image_callbacks(access.id(), &callbacks), name, "open in memory");
  image.release();  // the property list owns it
  check(H5Pset_file_image(access.id(), bytes->data(), bytes->size()), name, "open in memory");
  Handle file(check(H5Fopen(image_name().c_str(), H5F_ACC_RDONLY, access.id()), name, "open"), H5Fclose);
  return root_of(file.id(), name);
}

Group open_unchecked(const std::string& path) {
  silence();
  Handle file(check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path, "open"), H5Fclose);
  return root_of(file.id(), path);
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace assay::hdf5
