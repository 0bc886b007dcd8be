// The order probe: the tree of every sum, recovered from results, is the committed one.
#include "support/order_probe.hpp"

#include <fstream>
#include <sstream>

#include "autograd/ops.hpp"
#include "device/cpu/isa.hpp"
#include "kernels/record.hpp"
#include "kernels/squared_norm.hpp"
#include "optim/shards.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using Row = std::vector<float>;

/// A sum and the order that it has; `probe(n)` is that of n elements.
struct Sum {
  std::string name, order;
  Places sizes;
  std::function<ElementsBelow(std::int64_t n)> probe;
};

Row elements_found(const Tensor& x) {
  const auto read = x.read<float>();
  return Row(read.begin(), read.end());
}

Row elements_found(const std::vector<Term>& terms, float one, float mask, float nothing = 0) {
  Row values;
  for (Term term : terms) values.push_back(term == Term::nothing ? nothing : term == Term::one ? one : mask);
  return values;
}

/// Where each row has its first such element.
template <class T>
std::vector<std::int32_t> first_of(const std::vector<T>& elements, std::int64_t rows, T wanted) {
  const auto n = static_cast<std::ptrdiff_t>(elements.size()) / rows;
  std::vector<std::int32_t> places;
  for (auto row = elements.begin(); row != elements.end(); row += n)
    places.push_back(static_cast<std::int32_t>(std::find(row, row + n, wanted) - row));
  return places;
}

/// For which rows `result` is `expected` at the mask.
std::vector<bool> equals_at_mask(const Tensor& result, const std::vector<Term>& terms, std::int64_t rows,
                                 float expected) {
  const Row found = elements_found(result);
  std::vector<bool> equal;
  std::size_t begin = 0;
  for (std::int32_t place : first_of(terms, rows, Term::mask)) {
    equal.push_back(found[begin + static_cast<std::size_t>(place)] == expected);
    begin += found.size() / static_cast<std::size_t>(rows);
  }
  return equal;
}

/// A sum of which a gradient is d_i = (x_i − Σx ÷ n) ÷ `scale`, read at an element that is one.
Row sums_in_gradient(const Tensor& gradient, const Row& elements, std::int64_t rows, float scale) {
  const Row found = elements_found(gradient);
  const std::size_t n = found.size() / static_cast<std::size_t>(rows);
  Row sums;
  for (std::int32_t place : first_of(elements, rows, 1.0f))
    sums.push_back((1 - found[sums.size() * n + static_cast<std::size_t>(place)] * scale) * static_cast<float>(n));
  return sums;
}

class Sums {
 public:
  explicit Sums(Device device) : device_(device) {
    of_views();
    of_products();
    of_softmax();
    of_norms();
    of_attention();
    of_losses();
    of_gradients();
  }
  std::vector<Sum> all;

 private:
  void cancelling(const char* name, const char* order, const Places& sizes, const RowSums& sums) {
    all.push_back({name, order, sizes, [sums](std::int64_t n) { return by_cancelling(n, sums); }});
  }
  void absorbing(const char* name, const Places& sizes, const RowsAbsorb& absorb, const char* order = "lane") {
    all.push_back({name, order, sizes, [absorb](std::int64_t n) { return by_absorbing(n, absorb); }});
  }
  /// On the simulated device a lane is a fiber, and long sums take long.
  Places sizes(Places everywhere, const Places& elsewhere) const {
    if (device_ != simulated) everywhere.insert(everywhere.end(), elsewhere.begin(), elsewhere.end());
    return everywhere;
  }
  /// A sum that there is only one of in a call.
  static RowSums one_by_one(const std::function<float(const Row&)>& sum) {
    return [sum](const Row& elements, std::int64_t rows) {
      const auto n = static_cast<std::ptrdiff_t>(elements.size()) / rows;
      Row sums;
      for (auto row = elements.begin(); row != elements.end(); row += n) sums.push_back(sum(Row(row, row + n)));
      return sums;
    };
  }
  static RowsAbsorb one_by_one(const std::function<bool(const std::vector<Term>&)>& absorbs) {
    return [absorbs](const std::vector<Term>& terms, std::int64_t rows) {
      const auto n = static_cast<std::ptrdiff_t>(terms.size()) / rows;
      std::vector<bool> all;
      for (auto row = terms.begin(); row != terms.end(); row += n)
        all.push_back(absorbs(std::vector<Term>(row, row + n)));
      return all;
    };
  }

  Tensor matrix(const Row& elements, std::int64_t rows) const {
    return Tensor::from(elements, {rows, static_cast<std::int64_t>(elements.size()) / rows}, device_);
  }
  /// As a row, with another memory: the columns of a matrix.
  Tensor columns(const Row& elements, std::int64_t rows) const {
    return kernels::contiguous(matrix(elements, rows).transpose(0, 1));
  }

  void of_views() {
    auto over = [](const Tensor& x, int axis) { return elements_found(sum(Variable(x), {axis}).value()); };
    cancelling("sum over the last axis", "lane", sizes({1, 31, 32, 33, 100, 4097}, {4096, 8193}),
               [=, this](const Row& x, std::int64_t rows) { return over(matrix(x, rows), 1); });
    cancelling("sum over the last axis of a transposed matrix", "lane", sizes({33, 100}, {4097}),
               [=, this](const Row& x, std::int64_t rows) { return over(columns(x, rows).transpose(0, 1), 1); });
    cancelling("sum over the first axis", "chain", {1, 511, 512, 513, 1025},
               [=, this](const Row& x, std::int64_t rows) { return over(columns(x, rows), 0); });
    cancelling("sum over the first axis of a transposed matrix", "chain", {2, 513},
               [=, this](const Row& x, std::int64_t rows) { return over(matrix(x, rows).transpose(0, 1), 0); });
    cancelling("sum of all", "lane", sizes({1, 33}, {8193}),
               one_by_one([=, this](const Row& x) { return sum(Variable(matrix(x, 1))).value().read<float>()[0]; }));
  }

  void of_products() {
    auto product = [this](const Row& x, std::int64_t rows) {
      const Tensor left = matrix(x, rows), right = Tensor::full({left.shape()[1], 5}, 1, device_);
      return elements_found(kernels::contiguous(matmul(Variable(left), Variable(right)).value().slice(1, 4, 5)));
    };
    cancelling("matrix product", "chain", {1, 511, 512, 513, 1025}, product);
    cancelling("product of transposed matrices", "chain", {513}, [this](const Row& x, std::int64_t rows) {
      const Tensor left = columns(x, rows).transpose(0, 1), right = Tensor::full({5, left.shape()[1]}, 1, device_);
      const Variable product = matmul(Variable(left), Variable(right.transpose(0, 1)));
      return elements_found(kernels::contiguous(product.value().slice(1, 0, 1)));
    });
    cancelling("product of a single row", "chain", {513}, one_by_one([=](const Row& x) { return product(x, 1)[0]; }));
    auto linear_gradient = [this](const Row& x, std::int64_t rows, std::size_t of) {
      const Tensor upstream = columns(x, rows);
      const Variable weight = Variable::leaf(Tensor::full({rows, 1}, 1, device_)),
                     bias = Variable::leaf(Tensor::full({rows}, 1, device_));
      linear(Variable(Tensor::full({upstream.shape()[0], 1}, 1, device_)), weight, bias).backward(upstream);
      return elements_found((of == 0 ? weight : bias).gradient());
    };
    cancelling("gradient of a weight", "chain", {2, 513},
               [=](const Row& x, std::int64_t rows) { return linear_gradient(x, rows, 0); });
    cancelling("gradient of a bias", "chain", {2, 513},
               [=](const Row& x, std::int64_t rows) { return linear_gradient(x, rows, 1); });
  }

  /// exp(−17) is below half a unit in the last place of 1, twice that above; exp(−200) is +0.
  Tensor logits(const std::vector<Term>& terms, std::int64_t rows) const {
    return matrix(elements_found(terms, -17, 0, -200), rows);
  }

  void of_softmax() {
    absorbing("denominator of softmax", sizes({33}, {100}), [this](const std::vector<Term>& terms, std::int64_t rows) {
      return equals_at_mask(softmax(Variable(logits(terms, rows))).value(), terms, rows, 1);
    });
    absorbing("denominator of log-softmax", {33}, [this](const std::vector<Term>& terms, std::int64_t rows) {
      return equals_at_mask(log_softmax(Variable(logits(terms, rows))).value(), terms, rows, 0);
    });
    cancelling("gradient of softmax", "lane", {64}, [this](const Row& x, std::int64_t rows) {
      const Tensor upstream = matrix(x, rows);
      const Variable leaf = Variable::leaf(Tensor::zeros(upstream.shape(), device_));
      softmax(leaf).backward(upstream);
      return sums_in_gradient(leaf.gradient(), x, rows, 64);
    });
    cancelling("gradient of log-softmax", "lane", {64}, [this](const Row& x, std::int64_t rows) {
      const Tensor upstream = matrix(x, rows);
      const Variable leaf = Variable::leaf(Tensor::zeros(upstream.shape(), device_));
      log_softmax(leaf).backward(upstream);
      return sums_in_gradient(leaf.gradient(), x, rows, 1);
    });
  }

  void of_norms() {
    cancelling("mean of layer normalisation", "lane", sizes({33}, {4097}), [this](const Row& x, std::int64_t rows) {
      const Tensor at = matrix(x, rows), ones = Tensor::full({at.shape()[1]}, 1, device_);
      Row sums = elements_found(kernels::layer_norm(at, ones, ones, 1).statistics);
      sums.resize(static_cast<std::size_t>(rows));
      for (float& sum : sums) sum = sum * static_cast<float>(at.shape()[1]);
      return sums;
    });
    // In a constant row n is 0, and r is 1 with ε = 1.
    cancelling("gradient of layer normalisation", "lane", {64}, [this](const Row& x, std::int64_t rows) {
      return sums_in_gradient(norm_gradient(Tensor::zeros({rows, 64}, device_), matrix(x, rows), 1), x, rows, 1);
    });
    // Of 64 ones and a −64 the mean is 0 and r is 1/8: n is 1/8 and −8. The gradient at a one, less that behind the
    // row, which has no gradient above, is 1/8·(1 − b·65/8), and b the sum of the ones divided by 8·65.
    cancelling("products in the gradient of layer normalisation", "lane", {64},
               [this](const Row& x, std::int64_t rows) {
                 Row row(64, 1), at, upstream;
                 row.push_back(-64);
                 for (auto from = x.begin(); from != x.end(); from += 64) {
                   at.insert(at.end(), row.begin(), row.end());
                   upstream.insert(upstream.end(), from, from + 64);
                   upstream.push_back(0);
                 }
                 const Row found = elements_found(norm_gradient(matrix(at, rows), matrix(upstream, rows), 0x1p-40));
                 Row sums;
                 for (std::int32_t place : first_of(x, rows, 1.0f)) {
                   const float* of_row = found.data() + sums.size() * 65;
                   sums.push_back(64 * (1 - 8 * (of_row[place] - of_row[64])));
                 }
                 return sums;
               });
    // Every row of x has as many ones as minus ones, which are n also; the ones' columns have the elements.
    cancelling("gradient of layer normalisation's scale", "chain", {2, 513}, [this](const Row& x, std::int64_t rows) {
      Row twice = x;
      twice.insert(twice.end(), x.begin(), x.end());
      const Tensor upstream = columns(twice, 2 * rows);
      Row signs(static_cast<std::size_t>(rows), 1);
      signs.resize(2 * signs.size(), -1);
      const Tensor at = Tensor::from(signs, {2 * rows}, device_).expand(upstream.shape()),
                   ones = Tensor::full({2 * rows}, 1, device_);
      Row sums = elements_found(
          kernels::layer_norm_scale_gradient(at, kernels::layer_norm(at, ones, ones, 0x1p-40).statistics, upstream));
      sums.resize(static_cast<std::size_t>(rows));
      return sums;
    });
  }
  /// By x, the scale being 1.
  Tensor norm_gradient(const Tensor& x, const Tensor& upstream, double epsilon) const {
    const Tensor ones = Tensor::full({x.shape()[1]}, 1, device_);
    return kernels::layer_norm_gradient(x, kernels::layer_norm(x, ones, ones, epsilon).statistics, ones, upstream);
  }

  void of_attention() {
    // A single key: its score is the largest, σ times the sum.
    cancelling("score of attention", "chain", sizes({1, 511, 512, 513}, {1025}),
               [this](const Row& x, std::int64_t rows) {
                 const Tensor q = samples(x, rows), k = full(q.shape(), 1);
                 return unscaled(kernels::attention(q, k, k, {}, {}).most, q.shape()[2]);
               });
    // Exponentials are never negative, so this is a sum of absorption, with n³ elements in all: its blocks of 512 have
    // no probe. Over 600 and 1100 keys it has the bits of a plain loop (NUM-9).
    absorbing(
        "denominator of attention", {33},
        [this](const std::vector<Term>& terms, std::int64_t rows) {
          const Tensor k = logits(terms, rows);
          const Tensor of_samples = k.reshape({rows, k.shape()[1], 1});
          std::vector<bool> absorbed;
          for (float sum :
               elements_found(kernels::attention(full({rows, 1, 1}, 1), of_samples, of_samples, {}, {}).sum))
            absorbed.push_back(sum == 1);
          return absorbed;
        },
        "chain");
    // All scores are 0, so the exponentials are 1.
    cancelling("output of attention", "chain", sizes({2, 511, 513}, {1025}), [this](const Row& x, std::int64_t rows) {
      const Tensor v = positions(x, rows), zeros = full(v.shape(), 0);
      Row sums = elements_found(kernels::attention(zeros.slice(1, 0, 1), zeros, v, {}, {}).output);
      for (float& sum : sums) sum *= static_cast<float>(v.shape()[1]);
      return sums;
    });
    // With q or k of zeros, and a maximum of 0 and a sum of 1 as the way to the result, every weight is 1.
    cancelling("products of attention's gradient with values", "chain", {513}, [this](const Row& x, std::int64_t rows) {
      const Tensor g = samples(x, rows), ones = full(g.shape(), 1), zeros = full(g.shape(), 0);
      return unscaled(first_columns(attention_gradients(zeros, ones, ones, zeros, g)[0]), g.shape()[2]);
    });
    cancelling("products of attention's gradient with the output", "chain", {513},
               [this](const Row& x, std::int64_t rows) {
                 const Tensor g = samples(x, rows), ones = full(g.shape(), 1), zeros = full(g.shape(), 0);
                 return unscaled(first_columns(attention_gradients(zeros, ones, zeros, ones, g)[0]), -g.shape()[2]);
               });
    cancelling("gradient of attention's queries", "chain", {2, 511, 513}, [this](const Row& x, std::int64_t rows) {
      const Tensor k = positions(x, rows), q = full({1, 1, rows}, 0);
      return unscaled(attention_gradients(q, k, first_ones(k.shape()), q, first_ones(q.shape()))[0], rows);
    });
    // As many queries as keys, of which the first key is seen by all.
    cancelling("gradient of attention's keys", "chain", sizes({2, 33}, {513}), [this](const Row& x, std::int64_t rows) {
      const Tensor q = positions(x, rows), zeros = full(q.shape(), 0), first = first_ones(q.shape());
      return unscaled(kernels::copy(attention_gradients(q, zeros, first, zeros, first)[1].slice(1, 0, 1)), rows);
    });
    cancelling(
        "gradient of attention's values", "chain", sizes({2, 33}, {513}), [this](const Row& x, std::int64_t rows) {
          const Tensor g = positions(x, rows), zeros = full(g.shape(), 0);
          return elements_found(kernels::copy(attention_gradients(zeros, zeros, zeros, zeros, g)[2].slice(1, 0, 1)));
        });
    // The second is seen by all queries but the first; blocks stay where they were.
    cancelling("gradient of attention's second key", "anchored", sizes({2, 33}, {513}),
               [this](const Row& x, std::int64_t rows) {
                 const Tensor q = positions(behind_zeros(x, rows), rows), zeros = full(q.shape(), 0),
                              first = first_ones(q.shape());
                 return unscaled(kernels::copy(attention_gradients(q, zeros, first, zeros, first)[1].slice(1, 1, 2)),
                                 rows);
               });
    cancelling(
        "gradient of attention's second value", "anchored", sizes({2, 33}, {513}),
        [this](const Row& x, std::int64_t rows) {
          const Tensor g = positions(behind_zeros(x, rows), rows), zeros = full(g.shape(), 0);
          return elements_found(kernels::copy(attention_gradients(zeros, zeros, zeros, zeros, g)[2].slice(1, 1, 2)));
        });
  }
  /// Each row with a zero in front.
  static Row behind_zeros(const Row& x, std::int64_t rows) {
    Row longer;
    const auto n = static_cast<std::ptrdiff_t>(x.size()) / rows;
    for (auto row = x.begin(); row != x.end(); row += n) {
      longer.push_back(0);
      longer.insert(longer.end(), row, row + n);
    }
    return longer;
  }
  Tensor full(const Shape& shape, float value) const { return Tensor::full(shape, value, device_); }
  /// Each row a sample of one position, or the rows side by side at every position of one sample.
  Tensor samples(const Row& x, std::int64_t rows) const {
    const Tensor all = matrix(x, rows);
    return all.reshape({rows, 1, all.shape()[1]});
  }
  Tensor positions(const Row& x, std::int64_t rows) const {
    const Tensor all = columns(x, rows);
    return all.reshape({1, all.shape()[0], rows});
  }
  /// Rows (1, 0, 0 …): their products are 1.
  Tensor first_ones(const Shape& shape) const {
    Row values(static_cast<std::size_t>(shape.size()), 0);
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(shape[2])) values[i] = 1;
    return Tensor::from(values, shape, device_);
  }
  static Tensor first_columns(const Tensor& x) { return kernels::copy(x.slice(2, 0, 1)); }
  std::vector<Tensor> attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& output,
                                          const Tensor& upstream) const {
    const Shape of_queries{q.shape()[0], 1, q.shape()[1]};
    return kernels::attention_gradient(q, k, v, {}, {}, {output, full(of_queries, 0), full(of_queries, 1), {}},
                                       upstream);
  }
  /// Without the factor 1 ÷ √width; a width below 0 changes the sign.
  static Row unscaled(const Tensor& x, std::int64_t width) {
    Row sums = elements_found(x);
    const auto size = static_cast<float>(std::abs(width));
    for (float& sum : sums) sum *= width < 0 ? -std::sqrt(size) : std::sqrt(size);
    return sums;
  }

  void of_losses() {
    absorbing("denominator of cross entropy", {33}, [this](const std::vector<Term>& terms, std::int64_t rows) {
      const Tensor labels = Tensor::from(first_of(terms, rows, Term::mask), {rows}, device_);
      std::vector<bool> absorbed;
      for (float loss : elements_found(kernels::cross_entropy(logits(terms, rows), labels, 0, -100)))
        absorbed.push_back(loss == 0);
      return absorbed;
    });
    absorbing("denominator of cross entropy's gradient", {33},
              [this](const std::vector<Term>& terms, std::int64_t rows) {
                const Tensor labels = Tensor::from(first_of(terms, rows, Term::mask), {rows}, device_);
                const Variable leaf = Variable::leaf(logits(terms, rows));
                cross_entropy(leaf, labels).backward();
                return equals_at_mask(leaf.gradient(), terms, rows, 0);
              });
    absorbing("total of cross entropy", sizes({9}, {33}), one_by_one([this](const std::vector<Term>& terms) {
                // exp(−2¹⁰) is +0, so that the loss of a row is its other logit.
                Row pairs;
                for (float loss : elements_found(terms, 0x1p10f, 0x1p34f, 0)) {
                  pairs.push_back(loss == 0 ? 0 : -loss);
                  pairs.push_back(loss == 0 ? -0x1p10f : 0);
                }
                const auto rows = static_cast<std::int64_t>(terms.size());
                const Tensor labels = Tensor::from(std::vector<std::int32_t>(terms.size()), {rows}, device_);
                const Variable loss = cross_entropy(Variable(matrix(pairs, rows)), labels);
                return loss.value().read<float>()[0] == 0x1p34f / static_cast<float>(rows);
              }));
    absorbing("mean squared error", {33}, one_by_one([this](const std::vector<Term>& terms) {
                const Tensor x = matrix(elements_found(terms, 1, 0x1p12f), 1),
                             zeros = Tensor::zeros(x.shape(), device_);
                const Variable loss = mean_squared_error(Variable(x), Variable(zeros));
                return loss.value().read<float>()[0] == 0x1p24f / static_cast<float>(terms.size());
              }));
    absorbing("squared norm", {33}, one_by_one([this](const std::vector<Term>& terms) {
                const kernels::Record record(device_, 1);
                kernels::squared_norms({matrix(elements_found(terms, 1.25f, 0x1p27f), 1)}, record.all());
                return record.number(0) == 0x1p54;
              }));
  }

  void of_gradients() {
    cancelling("gradient of an embedding", "ascending", {1, 33, 513}, [this](const Row& x, std::int64_t rows) {
      const Tensor upstream = columns(x, rows);
      const std::vector<std::int32_t> ids(static_cast<std::size_t>(upstream.shape()[0]));
      const Variable table = Variable::leaf(Tensor::zeros({1, rows}, device_));
      embedding(table, Tensor::from(ids, {upstream.shape()[0]}, device_)).backward(upstream);
      return elements_found(table.gradient());
    });
    cancelling("gradient of what has several consumers", "descending", {2, 9}, [this](const Row& x, std::int64_t rows) {
      const Tensor factors = columns(x, rows), ones = Tensor::full({rows}, 1, device_);
      const Variable leaf = Variable::leaf(ones);
      std::vector<Variable> consumers;
      for (std::int64_t k = 0; k < factors.shape()[0]; ++k)
        consumers.push_back(multiply(leaf, Variable(factors.slice(0, k, k + 1).reshape({rows}))));
      Variable total = consumers[0];
      for (std::size_t k = 1; k < consumers.size(); ++k) total = add(total, consumers[k]);
      total.backward(ones);
      return elements_found(leaf.gradient());
    });
    cancelling("sum over shards", "binary", {1, 2, 4, 8, 32}, [this](const Row& x, std::int64_t rows) {
      const Tensor results = columns(x, rows);
      ShardSum sum(results.shape()[0]);
      for (std::int64_t k = 0; k < results.shape()[0]; ++k)
        sum.add({Tensor::zeros({}, device_), {results.slice(0, k, k + 1).reshape({rows})}});
      return elements_found(sum.total().gradients[0]);
    });
  }

  const Device device_;
};

/// "lane 33" and its tree, for each line.
std::map<std::string, std::string> committed_trees() {
  std::ifstream file(ASSAY_SOURCE_ROOT "/reference/orders.txt");
  std::map<std::string, std::string> trees;
  for (std::string line; std::getline(file, line);) {
    const std::size_t tree = line.find(" (");
    trees[line.substr(0, tree)] = line.substr(tree + 1);
  }
  return trees;
}

void check_trees(const Sum& sum, std::int64_t largest, const std::string& where) {
  static const auto trees = committed_trees();
  for (std::int64_t n : sum.sizes) {
    if (n > largest) continue;
    const std::string found = SumTree(n, sum.probe(n)).text();
    BOOST_TEST(trees.at(sum.order + " " + std::to_string(n)) == found,
               sum.name << " of " << n << where << ": " << found);
  }
}

}  // namespace

CONTRACT(NUM_12_the_tree_of_every_sum_is_the_committed_one) {
  for (const Sum& sum : Sums(device).all) check_trees(sum, 8193, "");
}

CONTRACT(NUM_12_every_build_adds_in_the_same_trees_on_several_threads) {
  const Isa widest = isa();
  set_threads(3);
  for (Isa build : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (build > widest) continue;
    const IsaScope scope(build);
    for (const Sum& sum : Sums(device).all)
      check_trees(sum, device == simulated ? 1025 : 8193, ", " + to_string(build) + " on 3 threads");
  }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(NUM_12_the_probe_recovers_the_trees_of_plain_loops) {
  using Loop = std::function<float(std::vector<float>)>;
  const Loop ascending = [](Row x) { return std::accumulate(x.begin(), x.end(), 0.0f); };
  const Loop descending = [](Row x) { return std::accumulate(x.rbegin(), x.rend(), 0.0f); };
  const Loop pairs = [](Row x) {
    for (std::size_t apart = 1; apart < x.size(); apart *= 2)
      for (std::size_t i = 0; i + apart < x.size(); i += 2 * apart) x[i] += x[i + apart];
    return x[0];
  };
  const Loop eight_lanes = [](Row x) {
    float lane[8] = {}, sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) lane[i % 8] += x[i];
    for (float part : lane) sum += part;
    return sum;
  };
  struct Known {
    Loop loop;
    std::int64_t n;
    std::string tree;
  };
  for (const Known& known : std::vector<Known>{{ascending, 1, "(0)"},
                                               {ascending, 2, "(0 1)"},
                                               {ascending, 9, "(0..8)"},
                                               {descending, 9, "(8..0)"},
                                               {pairs, 8, "(0 1 (2 3) (4 5 (6 7)))"},
                                               {pairs, 5, "(0 1 (2 3) 4)"},
                                               {eight_lanes, 9, "(0 8 1..7)"},
                                               {eight_lanes, 20,
                                                "(0..16/8 (1..17/8) (2..18/8) (3..19/8) (4 12) (5 13) "
                                                "(6 14) (7 15))"}}) {
    auto sums = [&](const Row& x, std::int64_t rows) {
      Row all;
      for (auto row = x.begin(); row != x.end(); row += known.n) all.push_back(known.loop(Row(row, row + known.n)));
      BOOST_TEST(static_cast<std::int64_t>(all.size()) == rows);
      return all;
    };
    BOOST_TEST(SumTree(known.n, by_cancelling(known.n, sums)).text() == known.tree);
    auto absorb = [&](const std::vector<Term>& terms, std::int64_t rows) {
      std::vector<bool> all;
      for (float sum : sums(elements_found(terms, 1, 0x1p24f), rows)) all.push_back(sum == 0x1p24f);
      return all;
    };
    BOOST_TEST(SumTree(known.n, by_absorbing(known.n, absorb)).text() == known.tree);
  }
}

BOOST_AUTO_TEST_CASE(NUM_12_a_sum_that_does_not_add_two_at_a_time_is_no_tree) {
  auto exact = [](const Row& x, std::int64_t rows) {
    return Row(static_cast<std::size_t>(rows), static_cast<float>(static_cast<std::int64_t>(x.size()) / rows - 2));
  };
  BOOST_TEST(SumTree(5, by_cancelling(5, exact)).text() == "no tree of sums of two");
}
