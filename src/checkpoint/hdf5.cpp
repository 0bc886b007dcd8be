// Objects, attributes, groups and datasets.
#include "checkpoint/hdf5.hpp"

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "checkpoint/hdf5_check.hpp"

namespace assay::hdf5 {
namespace {

constexpr unsigned creation_order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
constexpr std::uint64_t text_limit = std::uint64_t{256} << 20;  // bytes of one dataset or attribute of text
constexpr std::size_t text_reference_bytes = 16;                // what a file stores per text: length, heap, index

hid_t type_id(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return H5T_IEEE_F32LE;
    case ElementType::float64:
      return H5T_IEEE_F64LE;
    case ElementType::int32:
      return H5T_STD_I32LE;
    case ElementType::uint64:
      return H5T_STD_U64LE;
    case ElementType::uint8:
      break;
  }
  return H5T_STD_U8LE;
}

std::string path_of(const std::string& parent, const std::string& name) {
  return (parent == "/" ? "/" : parent + "/") + name;
}

extern "C" herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}
extern "C" herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::string type_text(hid_t type) {
  const std::string bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + bits;
    case H5T_FLOAT:
      return "float" + bits;
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    default:
      return "other";
  }
}

/// A dataset's parts, opened once.
struct Opened {
  Handle dataset, type, space;
  std::string where;
  std::vector<std::int64_t> shape;

  Opened(std::int64_t group, const std::string& name, std::string text) : where(std::move(text)) {
    dataset = Handle(check(H5Dopen2(group, name.c_str(), H5P_DEFAULT), where, "open dataset"), H5Dclose);
    type = Handle(check(H5Dget_type(dataset.id()), where, "type of dataset"), H5Tclose);
    space = Handle(check(H5Dget_space(dataset.id()), where, "shape of dataset"), H5Sclose);
    std::vector<hsize_t> extents(
        static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space.id()), where, "rank of dataset")));
    check(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), where, "shape of dataset");
    for (hsize_t extent : extents)
      shape.push_back(static_cast<std::int64_t>(std::min<hsize_t>(extent, std::numeric_limits<std::int64_t>::max())));
  }

  /// The number of elements, once it is known that the file stores all of them.
  std::size_t stored_count(std::size_t size) const {
    const std::size_t count = shape_count(shape);
    const std::uint64_t stored = H5Dget_storage_size(dataset.id());
    if (count > stored / size || count * size != stored)
      throw Error("FILE-3", "read dataset " + where,
                  shape_text(shape) + " elements of " + std::to_string(size) + " bytes",
                  std::to_string(stored) + " stored bytes");
    return count;
  }
};

Handle text_type() {
  Handle type(check(H5Tcopy(H5T_C_S1), "text", "type of"), H5Tclose);
  check(H5Tset_size(type.id(), H5T_VARIABLE), "text", "type of");
  check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "text", "type of");
  return type;
}

Handle scalar_space() { return Handle(check(H5Screate(H5S_SCALAR), "scalar", "shape of"), H5Sclose); }

Handle simple_space(const std::vector<std::int64_t>& extents, const std::string& where) {
  if (extents.empty()) return scalar_space();
  std::vector<hsize_t> dims(extents.begin(), extents.end());
  return Handle(check(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), where, "shape of"),
                H5Sclose);
}

Handle dataset_creation(const std::string& where) {
  Handle list(check(H5Pcreate(H5P_DATASET_CREATE), where, "create dataset"), H5Pclose);
  check(H5Pset_obj_track_times(list.id(), sabotaged("files_record_times")), where, "create dataset");
  check(H5Pset_attr_creation_order(list.id(), creation_order), where, "create dataset");
  return list;
}

Handle create_dataset(std::int64_t group, const std::string& name, const std::string& where, hid_t type, hid_t space,
                      hid_t creation) {
  return Handle(
      check(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), where, "create dataset"),
      H5Dclose);
}

void write_text(std::int64_t group, const std::string& name, const std::string& where, const Handle& space,
                const std::vector<std::string>& texts) {
  Handle type = text_type(), creation = dataset_creation(where);
  Handle dataset = create_dataset(group, name, where, type.id(), space.id(), creation.id());
  std::vector<const char*> pointers;
  for (const std::string& text : texts) {
    if (text.find('\0') != std::string::npos)
      throw Error("FILE-3", "write dataset " + where, "text without a zero byte", "one with");
    pointers.push_back(text.c_str());
  }
  if (!texts.empty())
    check(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), where, "write dataset");
}

// The library asks these for the memory of each text, so many references to one long text meet the limit too.
extern "C" void* allocate_text(std::size_t size, void* left) {
  auto& bytes = *static_cast<std::uint64_t*>(left);
  if (size > bytes) return nullptr;
  bytes -= size;
  return std::malloc(size);
}
extern "C" void release_text(void* text, void*) { std::free(text); }

std::vector<std::string> read_text(const Opened& opened) {
  if (H5Tis_variable_str(opened.type.id()) <= 0)
    throw Error("FILE-3", "read dataset " + opened.where, "text of variable length", type_text(opened.type.id()));
  const std::size_t count = opened.stored_count(text_reference_bytes);
  if (count == 0) return {};
  Handle type = text_type(), transfer(check(H5Pcreate(H5P_DATASET_XFER), opened.where, "read dataset"), H5Pclose);
  std::uint64_t left = text_limit;
  check(H5Pset_vlen_mem_manager(transfer.id(), allocate_text, &left, release_text, nullptr), opened.where,
        "read dataset");
  std::vector<char*> pointers(count);
  check(H5Dread(opened.dataset.id(), type.id(), H5S_ALL, H5S_ALL, transfer.id(), pointers.data()), opened.where,
        "read dataset");
  std::vector<std::string> texts;
  for (char* pointer : pointers) {
    texts.emplace_back(pointer ? pointer : "");
    std::free(pointer);
  }
  return texts;
}

}  // namespace

// Objects and attributes

std::int64_t Object::check(std::int64_t result, const std::string& name, const char* doing) const {
  return hdf5::check(result, file_ + ": " + path_of(path_, name), doing);
}

void Object::fail(const std::string& name, const std::string& expected, const std::string& found) const {
  throw Error("FILE-3", "read " + file_ + ": " + path_of(path_, name), expected, found);
}

void Object::set(const std::string& name, const Value& value) {
  Handle text = text_type(), space = scalar_space();
  const char* characters = nullptr;
  const void* data = &characters;
  hid_t type = text.id();
  if (auto* integer = std::get_if<std::int64_t>(&value)) data = integer, type = H5T_STD_I64LE;
  if (auto* integer = std::get_if<std::uint64_t>(&value)) data = integer, type = H5T_STD_U64LE;
  if (auto* number = std::get_if<double>(&value)) data = number, type = H5T_IEEE_F64LE;
  if (auto* string = std::get_if<std::string>(&value)) {
    if (string->find('\0') != std::string::npos) fail("@" + name, "text without a zero byte", "one with");
    characters = string->c_str();
  }
  Handle attribute(check(H5Acreate2(handle_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), "@" + name,
                         "create attribute"),
                   H5Aclose);
  check(H5Awrite(attribute.id(), type, data), "@" + name, "write attribute");
}

bool Object::has(const std::string& name) const {
  return check(H5Aexists(handle_.id(), name.c_str()), "@" + name, "look for attribute") > 0;
}

Value Object::get(const std::string& name) const {
  const std::string label = "@" + name;
  if (!has(name)) fail(label, "an attribute", "none");
  Handle attribute(check(H5Aopen(handle_.id(), name.c_str(), H5P_DEFAULT), label, "open attribute"), H5Aclose);
  Handle type(check(H5Aget_type(attribute.id()), label, "type of attribute"), H5Tclose);
  Handle space(check(H5Aget_space(attribute.id()), label, "shape of attribute"), H5Sclose);
  const std::size_t size = H5Tget_size(type.id());
  const auto kind = H5Tget_class(type.id());
  if (H5Sget_simple_extent_npoints(space.id()) != 1 || size > text_limit)
    fail(label, "one value", "a list or a value too large");
  auto read = [&](hid_t memory_type, void* into) { check(H5Aread(attribute.id(), memory_type, into), label, "read"); };
  if (kind == H5T_STRING && H5Tis_variable_str(type.id()) > 0) {
    Handle text = text_type();
    check(H5Tset_cset(text.id(), H5Tget_cset(type.id())), label, "read");
    char* characters = nullptr;
    read(text.id(), &characters);
    std::string result = characters ? characters : "";
    check(H5Dvlen_reclaim(text.id(), space.id(), H5P_DEFAULT, &characters), label, "release");
    return result;
  }
  if (kind == H5T_STRING) {
    std::string result(size, '\0');
    read(type.id(), result.data());
    return std::string(result.c_str());
  }
  if (kind == H5T_FLOAT) {
    double number = 0;
    read(H5T_NATIVE_DOUBLE, &number);
    return number;
  }
  if (kind != H5T_INTEGER) fail(label, "a number or text", type_text(type.id()));
  std::uint64_t integer = 0;
  const bool is_signed = H5Tget_sign(type.id()) != H5T_SGN_NONE;
  read(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, &integer);
  if (is_signed) return static_cast<std::int64_t>(integer);
  return integer;
}

template <class T>
T Object::get_as(const std::string& name, const char* type) const {
  Value value = get(name);
  if (T* held = std::get_if<T>(&value)) return std::move(*held);
  fail("@" + name, type, "another type");
}

std::string Object::get_string(const std::string& name) const { return get_as<std::string>(name, "text"); }
double Object::get_double(const std::string& name) const { return get_as<double>(name, "a floating-point number"); }

std::uint64_t Object::get_count(const std::string& name) const {
  Value value = get(name);
  if (auto* integer = std::get_if<std::uint64_t>(&value)) return *integer;
  auto* integer = std::get_if<std::int64_t>(&value);
  if (!integer) fail("@" + name, "an integer", "another type");
  if (*integer < 0) fail("@" + name, "an integer ≥ 0", std::to_string(*integer));
  return static_cast<std::uint64_t>(*integer);
}

std::vector<std::string> Object::attributes() const {
  std::vector<std::string> names;
  auto list = [&](H5_index_t index) {
    names.clear();
    return H5Aiterate2(handle_.id(), index, H5_ITER_INC, nullptr, collect_attribute, &names);
  };
  if (list(H5_INDEX_CRT_ORDER) < 0) check(list(H5_INDEX_NAME), "", "list attributes of");
  return names;
}

// Groups

Group Group::create_group(const std::string& name) {
  Handle list(check(H5Pcreate(H5P_GROUP_CREATE), name, "create group"), H5Pclose);
  check(H5Pset_link_creation_order(list.id(), creation_order), name, "create group");
  check(H5Pset_attr_creation_order(list.id(), creation_order), name, "create group");
  check(H5Pset_obj_track_times(list.id(), false), name, "create group");
  Handle group(check(H5Gcreate2(handle_.id(), name.c_str(), H5P_DEFAULT, list.id(), H5P_DEFAULT), name, "create group"),
               H5Gclose);
  return Group(std::move(group), file_, path_of(path_, name));
}

Object Group::write(const std::string& name, const Array& array) {
  const std::string path = path_of(path_, name), text = file_ + ": " + path;
  if (array.bytes.size() != shape_count(array.shape) * element_size(array.type))
    throw Error("FILE-3", "write dataset " + text, shape_text(array.shape) + " elements",
                std::to_string(array.bytes.size()) + " bytes");
  Handle space = simple_space(array.shape, text), creation = dataset_creation(text);
  Handle dataset = create_dataset(handle_.id(), name, text, type_id(array.type), space.id(), creation.id());
  if (!array.bytes.empty())
    check(H5Dwrite(dataset.id(), type_id(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes.data()), name,
          "write dataset");
  return Object(std::move(dataset), file_, path);
}

void Group::write_string(const std::string& name, const std::string& text) {
  write_text(handle_.id(), name, file_ + ": " + path_of(path_, name), scalar_space(), {text});
}

void Group::write_strings(const std::string& name, const std::vector<std::string>& texts) {
  const std::string text = file_ + ": " + path_of(path_, name);
  write_text(handle_.id(), name, text, simple_space({static_cast<std::int64_t>(texts.size())}, text), texts);
}

void Group::write_virtual(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape,
                          const std::string& path, const std::vector<VirtualPart>& parts) {
  const std::string text = file_ + ": " + path_of(path_, name);
  Handle space = simple_space(shape, text), creation = dataset_creation(text);
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  if (type == ElementType::float32 || type == ElementType::float64)
    check(H5Pset_fill_value(creation.id(), H5T_NATIVE_DOUBLE, &not_a_number), name, "create dataset");
  std::vector<hsize_t> start(shape.size(), 0), count(shape.begin(), shape.end());
  for (const VirtualPart& part : parts) {
    std::vector<std::int64_t> part_shape = shape;
    part_shape[0] = static_cast<std::int64_t>(part.rows);
    if (shape_count(part_shape) == 0) continue;
    count[0] = part.rows;
    Handle source = simple_space(part_shape, text);
    check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), name,
          "create dataset");
    check(H5Pset_virtual(creation.id(), space.id(), part.file.c_str(), path.c_str(), source.id()), name,
          "create dataset");
    start[0] += part.rows;
  }
  check(H5Sselect_all(space.id()), name, "create dataset");
  create_dataset(handle_.id(), name, text, type_id(type), space.id(), creation.id());
}

bool Group::contains(const std::string& name) const {
  return check(H5Lexists(handle_.id(), name.c_str(), H5P_DEFAULT), name, "look for") > 0;
}

Group Group::group(const std::string& name) const {
  return Group(Handle(check(H5Gopen2(handle_.id(), name.c_str(), H5P_DEFAULT), name, "open group"), H5Gclose), file_,
               path_of(path_, name));
}

Object Group::dataset(const std::string& name) const {
  return Object(Handle(check(H5Dopen2(handle_.id(), name.c_str(), H5P_DEFAULT), name, "open dataset"), H5Dclose), file_,
                path_of(path_, name));
}

Array Group::read(const std::string& name) const {
  Opened opened(handle_.id(), name, file_ + ": " + path_of(path_, name));
  for (ElementType type :
       {ElementType::float32, ElementType::float64, ElementType::int32, ElementType::uint8, ElementType::uint64}) {
    if (H5Tequal(opened.type.id(), type_id(type)) <= 0) continue;
    Array array{type, opened.shape, {}};
    array.bytes.resize(opened.stored_count(element_size(type)) * element_size(type));
    if (!array.bytes.empty())
      check(H5Dread(opened.dataset.id(), type_id(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes.data()), name,
            "read dataset");
    return array;
  }
  fail(name, "float32, float64, int32, uint8 or uint64, little-endian", type_text(opened.type.id()));
}

void Group::read_into(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape,
                      const std::function<void*(std::size_t)>& room) const {
  Opened opened(handle_.id(), name, file_ + ": " + path_of(path_, name));
  if (check(H5Tequal(opened.type.id(), type_id(type)), name, "type of dataset") == 0)
    fail(name, element_name(type), type_text(opened.type.id()));
  if (opened.shape != shape) fail(name, "shape " + shape_text(shape), shape_text(opened.shape));
  const std::size_t count = opened.stored_count(element_size(type));
  void* into = room(count);
  if (count > 0)
    check(H5Dread(opened.dataset.id(), type_id(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, into), name, "read dataset");
}

std::string Group::read_string(const std::string& name) const {
  Opened opened(handle_.id(), name, file_ + ": " + path_of(path_, name));
  if (!opened.shape.empty()) fail(name, "one text", "shape " + shape_text(opened.shape));
  return read_text(opened).at(0);
}

std::vector<std::string> Group::read_strings(const std::string& name) const {
  Opened opened(handle_.id(), name, file_ + ": " + path_of(path_, name));
  if (opened.shape.size() != 1) fail(name, "a list of texts", "shape " + shape_text(opened.shape));
  return read_text(opened);
}

std::vector<Child> Group::children() const {
  std::vector<std::string> names;
  Handle list(check(H5Gget_create_plist(handle_.id()), "", "list"), H5Pclose);
  unsigned order = 0;
  check(H5Pget_link_creation_order(list.id(), &order), "", "list");
  hsize_t next = 0;
  check(H5Literate(handle_.id(), order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, &next,
                   collect_link, &names),
        "", "list");
  std::vector<Child> children;
  for (std::string& name : names) {
    H5L_info_t link;
    H5O_info_t object;
    check(H5Lget_info(handle_.id(), name.c_str(), &link, H5P_DEFAULT), name, "look at");
    Child::Kind kind = Child::Kind::link;
    if (link.type == H5L_TYPE_HARD) {
      check(H5Oget_info_by_name2(handle_.id(), name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT), name, "look at");
      kind = object.type == H5O_TYPE_GROUP     ? Child::Kind::group
             : object.type == H5O_TYPE_DATASET ? Child::Kind::dataset
                                               : Child::Kind::other;
    }
    children.push_back({std::move(name), kind});
  }
  return children;
}

std::string Group::dataset_text(const std::string& name) const {
  Opened opened(handle_.id(), name, file_ + ": " + path_of(path_, name));
  return type_text(opened.type.id()) + " " + shape_text(opened.shape);
}

}  // namespace assay::hdf5
