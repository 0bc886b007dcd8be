// Rows of a table, and their gradients under a hypothesis: each a sum over the places that name the row.
#include "kernels/embedding.hpp"

#include <algorithm>

#include "device/cpu/scratch.hpp"
#include "kernels/walk.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

void embedding(View<const float> table, View<const std::int32_t> ids, View<float> y) {
  const std::int64_t width = table.extent[1];
  for (std::int64_t i = 0; i < size_of(ids); ++i)
    std::copy_n(table.data + ids.data[i] * width, width, y.data + i * width);
}

void embedding_gradient(View<const std::int32_t> ids, View<const float> upstream, std::int64_t rows,
                        View<float> gradient) {
  const std::int64_t width = gradient.extent[1], count = size_of(ids);
  // Places of the first row's id, of the second's …, ascending; row r has those from begins[r] on.
  auto* const begins =
      static_cast<std::int64_t*>(thread_scratch(static_cast<std::size_t>(rows + 1 + count) * sizeof(std::int64_t)));
  std::int64_t* const places = begins + rows + 1;
  std::fill_n(begins, rows + 1, 0);
  for (std::int64_t i = 0; i < count; ++i) ++begins[ids.data[i]];
  for (std::int64_t row = 0; row < rows; ++row) begins[row + 1] += begins[row];
  for (std::int64_t i = count - 1; i >= 0; --i) places[--begins[ids.data[i]]] = i;

  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < width; ++column)
      gradient.data[row * width + column] = numerics::order_detail::sum_otherwise<float>(
          static_cast<std::size_t>(begins[row]), static_cast<std::size_t>(begins[row + 1]),
          [&](auto sum, std::size_t k) { return sum + upstream.data[places[k] * width + column]; });
}

}  // namespace assay::kernels::ASSAY_ISA
