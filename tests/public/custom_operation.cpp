// A custom operation built in a target of its own, from the public headers of the graph and of two kernels alone.
#include <cstdio>

#include "autograd/variable.hpp"
#include "kernels/multiply.hpp"
#include "kernels/sum.hpp"

namespace {

using assay::Tensor;
using assay::Variable;

// Σ x², a scalar, with gradient 2·x.
Variable sum_of_squares(const Variable& x) {
  return assay::custom_gradient("sum_of_squares", assay::kernels::sum(assay::kernels::multiply(x.value(), x.value())),
                                {x}, [x = x.value()](const Tensor& upstream, const std::vector<bool>&) {
                                  Tensor twice = assay::kernels::multiply(upstream, Tensor::full({}, 2, x.device()));
                                  return std::vector{assay::kernels::multiply(twice, x)};
                                });
}

}  // namespace

int main() {
  Variable x = Variable::leaf(Tensor::from<float>({3, -4}, {2}));
  Variable loss = sum_of_squares(x);
  loss.backward();
  const auto gradient = x.gradient().read<float>();
  if (loss.value().item() == 25 && gradient[0] == 6 && gradient[1] == -8) return 0;
  std::printf("VJP-7: expected 25 with gradient 6, -8, found %g with %g, %g\n", loss.value().item(),
              static_cast<double>(gradient[0]), static_cast<double>(gradient[1]));
  return 1;
}
