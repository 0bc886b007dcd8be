// Datasets: from IDX arrays, checked, cut and gathered.
#include "data/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace assay {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

std::int64_t index_of_non_finite(std::span<const float> values) {
  const auto at = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  return at == values.end() ? -1 : at - values.begin();
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void check(const Dataset& data) {
  const auto refuse = [&](std::string expected, std::string found) {
    throw Error("RUN-3", "data set " + data.name, std::move(expected), std::move(found));
  };
  if (data.count < 1 || data.features < 1 || data.classes < 1)
    refuse("at least one sample, feature and class",
           text(data.count) + ", " + text(data.features) + " and " + text(data.classes));
  std::int64_t features = 1;
  for (std::int64_t extent : data.sample_shape) features *= extent;
  const auto labels = static_cast<std::int64_t>(data.labels.size());
  const auto inputs = static_cast<std::int64_t>(data.inputs.size());
  if (features != data.features) refuse(text(data.features) + " features", "a sample shape of " + text(features));
  if (labels != data.count) refuse(text(data.count) + " labels", text(labels));
  if (inputs / data.features != data.count || inputs % data.features != 0)
    refuse(text(data.count) + " x " + text(data.features) + " inputs", text(inputs));
  for (std::int64_t i = 0; i < data.count; ++i) {
    const std::int32_t label = data.labels[static_cast<std::size_t>(i)];
    if (label < 0 || label >= data.classes)
      refuse("label " + text(i) + " in [0, " + text(data.classes) + ")", text(label));
  }
  if (const std::int64_t i = index_of_non_finite(data.inputs); i >= 0)
    refuse("finite inputs", std::to_string(data.inputs[static_cast<std::size_t>(i)]) + " in sample " +
                                text(i / data.features) + ", feature " + text(i % data.features));
}

Dataset from_idx(std::string name, const IdxArray& images, const IdxArray& labels, std::int64_t classes) {
  const auto refuse = [](const IdxArray& array, std::string expected, std::string found) {
    throw Error("FILE-6", "IDX file " + array.path, std::move(expected), std::move(found));
  };
  if (labels.type != IdxArray::Type::unsigned_byte || labels.shape.size() != 1)
    refuse(labels, "labels: unsigned bytes with 1 dimension",
           labels.type == IdxArray::Type::float32 ? "float32" : text(std::ssize(labels.shape)) + " dimensions");
  if (images.shape.size() < 2) refuse(images, "samples: at least 2 dimensions", "1 dimension");
  if (images.shape[0] != labels.shape[0])
    refuse(labels, "as many labels as " + images.path + " has samples, " + text(images.shape[0]),
           text(labels.shape[0]));

  Dataset data;
  data.name = std::move(name);
  data.count = images.shape[0];
  data.sample_shape.assign(images.shape.begin() + 1, images.shape.end());
  data.features = 1;
  for (std::int64_t extent : data.sample_shape) data.features *= extent;
  if (data.count == 0 || data.features == 0) refuse(images, "at least one sample of at least one value", "none");

  const std::uint8_t largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
  data.classes = classes != 0 ? classes : largest + 1;
  if (largest >= data.classes) {
    const auto at = std::find_if(labels.bytes.begin(), labels.bytes.end(), [&](auto x) { return x >= data.classes; });
    refuse(labels, "label " + text(at - labels.bytes.begin()) + " in [0, " + text(data.classes) + ")", text(*at));
  }
  data.labels.assign(labels.bytes.begin(), labels.bytes.end());

  if (images.type == IdxArray::Type::float32) {
    data.inputs = images.floats;
    if (const std::int64_t i = index_of_non_finite(data.inputs); i >= 0)
      refuse(images, "finite values",
             std::to_string(data.inputs[static_cast<std::size_t>(i)]) + " in sample " + text(i / data.features) +
                 ", value " + text(i % data.features));
  } else {
    data.inputs.resize(images.bytes.size());
    std::transform(images.bytes.begin(), images.bytes.end(), data.inputs.begin(),
                   [](std::uint8_t x) { return static_cast<float>(x) / 255.0f; });
  }
  for (const IdxArray* array : {&images, &labels}) data.digests.push_back({file_name(array->path), array->sha256});
  check(data);
  return data;
}

Dataset slice(const Dataset& data, std::int64_t begin, std::int64_t count) {
  if (begin < 0 || count < 0 || begin > data.count || count > data.count - begin)
    throw Error("RUN-3", "slice of data set " + data.name, "samples in [0, " + text(data.count) + ")",
                text(count) + " samples from " + text(begin));
  Dataset part = {data.name, count, data.features, data.classes, data.sample_shape, {}, {}, data.digests};
  const auto first_input = data.inputs.begin() + begin * data.features;
  const auto first_label = data.labels.begin() + begin;
  part.inputs.assign(first_input, first_input + count * data.features);
  part.labels.assign(first_label, first_label + count);
  return part;
}

Batch gather(const Dataset& data, std::span<const std::int64_t> ids) {
  Batch batch;
  batch.inputs.reserve(ids.size() * static_cast<std::size_t>(data.features));
  batch.labels.reserve(ids.size());
  for (std::int64_t id : ids) {
    if (id < 0 || id >= data.count)
      throw Error("RUN-3", "batch of data set " + data.name, "ids in [0, " + text(data.count) + ")", text(id));
    const auto first = data.inputs.begin() + id * data.features;
    batch.inputs.insert(batch.inputs.end(), first, first + data.features);
    batch.labels.push_back(data.labels[static_cast<std::size_t>(id)]);
  }
  return batch;
}

}  // namespace assay
