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

/// Appends rows of `width` elements; nothing of a set that holds none of the kind.
template <class T>
void append(std::vector<T>& to, const std::vector<T>& from, std::int64_t begin, std::int64_t rows, std::int64_t width) {
  if (from.empty()) return;
  const auto first = from.begin() + begin * width;
  to.insert(to.end(), first, first + rows * width);
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void check(const Dataset& data) {
  const auto refuse = [&](std::string expected, std::string found) {
    throw Error("RUN-3", "data set " + data.name, std::move(expected), std::move(found));
  };
  const auto require_size = [&](const std::string& what, std::int64_t width, std::size_t found) {
    const auto size = static_cast<std::int64_t>(found);
    if (size / width != data.count || size % width != 0)
      refuse(text(data.count) + " x " + text(width) + " " + what, text(size));
  };
  const auto require_range = [&](const std::string& what, std::span<const std::int32_t> values) {
    const auto outside =
        std::find_if(values.begin(), values.end(), [&](std::int32_t x) { return x < 0 || x >= data.classes; });
    if (outside != values.end())
      refuse(what + " " + text(outside - values.begin()) + " in [0, " + text(data.classes) + ")", text(*outside));
  };
  if (data.count < 1 || data.features < 1 || data.classes < 1 || data.labels_per_sample < 1)
    refuse("at least one sample, feature, class and label of a sample", text(data.count) + ", " + text(data.features) +
                                                                            ", " + text(data.classes) + " and " +
                                                                            text(data.labels_per_sample));
  std::int64_t features = 1;
  for (std::int64_t extent : data.sample_shape) features *= extent;
  if (features != data.features) refuse(text(data.features) + " features", "a sample shape of " + text(features));
  require_size("labels", data.labels_per_sample, data.labels.size());
  if (!data.tokens.empty()) {
    if (!data.inputs.empty()) refuse("either tokens or inputs", "both");
    if (data.labels_per_sample != data.features) refuse("a label for each token", text(data.labels_per_sample));
    require_size("tokens", data.features, data.tokens.size());
  } else {
    require_size("inputs", data.features, data.inputs.size());
  }
  require_range("label", data.labels);
  require_range("token", data.tokens);
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
  Dataset part = {data.name, count, data.features, data.classes, data.labels_per_sample, data.sample_shape, {},
                  {},        {},    data.digests};
  append(part.inputs, data.inputs, begin, count, data.features);
  append(part.tokens, data.tokens, begin, count, data.features);
  append(part.labels, data.labels, begin, count, data.labels_per_sample);
  return part;
}

Batch gather(const Dataset& data, std::span<const std::int64_t> ids) {
  Batch batch;
  const std::size_t values = ids.size() * static_cast<std::size_t>(data.features);
  data.tokens.empty() ? batch.inputs.reserve(values) : batch.tokens.reserve(values);
  batch.labels.reserve(ids.size() * static_cast<std::size_t>(data.labels_per_sample));
  for (std::int64_t id : ids) {
    if (id < 0 || id >= data.count)
      throw Error("RUN-3", "batch of data set " + data.name, "ids in [0, " + text(data.count) + ")", text(id));
    append(batch.inputs, data.inputs, id, 1, data.features);
    append(batch.tokens, data.tokens, id, 1, data.features);
    append(batch.labels, data.labels, id, 1, data.labels_per_sample);
  }
  return batch;
}

}  // namespace assay
