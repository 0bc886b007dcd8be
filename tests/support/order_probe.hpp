// The order probe: the tree in which a sum adds, recovered from its results alone (Xie et al., "FPRev", 2024).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace assay::test {

using Places = std::vector<std::int64_t>;

/// For element i and each of some others: how many elements the smallest subtree has that holds both.
using ElementsBelow = std::function<Places(std::int64_t i, const Places& others)>;

/// The sums of `rows` rows of n elements each.
using RowSums = std::function<std::vector<float>(const std::vector<float>& elements, std::int64_t rows)>;

/// Ones, M at i and −M at j: M absorbs each one that is added to it, so that the result is the number of ones outside
/// of the smallest subtree with both.
inline ElementsBelow by_cancelling(std::int64_t n, const RowSums& sums) {
  return [n, sums](std::int64_t i, const Places& others) {
    constexpr float mask = 0x1p100f;
    const std::size_t size = static_cast<std::size_t>(n), part = (std::size_t{1} << 20) / size + 1;
    Places below;
    for (std::size_t begin = 0; begin < others.size(); begin += part) {
      const std::size_t rows = std::min(part, others.size() - begin);
      std::vector<float> elements(rows * size, 1);
      for (std::size_t row = 0; row < rows; ++row) {
        elements[row * size + static_cast<std::size_t>(i)] = mask;
        elements[row * size + static_cast<std::size_t>(others[begin + row])] = -mask;
      }
      for (float outside : sums(elements, static_cast<std::int64_t>(rows))) below.push_back(n - std::lround(outside));
    }
    return below;
  };
}

/// Terms of a sum that are never negative. The mask absorbs a one, but not two that were added before.
enum class Term { nothing, one, mask };

/// Whether each of `rows` rows of n terms has the sum of its mask alone.
using RowsAbsorb = std::function<std::vector<bool>(const std::vector<Term>& terms, std::int64_t rows)>;

/// Ones at i and j and the mask at any k: not absorbed, k is outside of the smallest subtree with both.
inline ElementsBelow by_absorbing(std::int64_t n, const RowsAbsorb& absorb) {
  return [n, absorb](std::int64_t i, const Places& others) {
    const auto size = static_cast<std::size_t>(n);
    Places below;
    for (std::int64_t j : others) {
      std::vector<Term> terms;
      for (std::int64_t k = 0; k < n; ++k) {
        if (k == i || k == j) continue;
        terms.resize(terms.size() + size, Term::nothing);
        Term* row = &terms[terms.size() - size];
        row[i] = row[j] = Term::one;
        row[k] = Term::mask;
      }
      below.push_back(n);
      if (n > 2)
        for (bool absorbed : absorb(terms, n - 2)) below.back() -= !absorbed;
    }
    return below;
  };
}

/// A tree of sums of two, written as in reference/orders.py.
class SumTree {
 public:
  SumTree(std::int64_t n, const ElementsBelow& below) : below_(below) {
    Places all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    root_ = recover(all);
  }

  std::string text() const { return is_tree_ ? "(" + written(root_) + ")" : "no tree of sums of two"; }

 private:
  struct Node {
    std::int64_t size, lowest;
    std::size_t first = 0, second = 0;  // the larger operand first, of equally large ones that with the lowest element
  };

  /// The smallest subtree with all of `elements`, which are ascending.
  std::size_t recover(const Places& elements) {
    nodes_.push_back({1, elements[0]});
    std::size_t node = nodes_.size() - 1;
    if (elements.size() == 1) return node;
    const Places others(elements.begin() + 1, elements.end()), below = below_(elements[0], others);
    std::map<std::int64_t, Places> joined_at;  // what is added to the subtree of the first element, smallest first
    for (std::size_t k = 0; k < others.size(); ++k) joined_at[below[k]].push_back(others[k]);
    for (const auto& [size, group] : joined_at) {
      node = sum_of(node, recover(group));
      is_tree_ = is_tree_ && nodes_[node].size == size;
    }
    return node;
  }

  std::size_t sum_of(std::size_t a, std::size_t b) {
    const Node &x = nodes_[a], &y = nodes_[b];
    if (x.size < y.size || (x.size == y.size && x.lowest > y.lowest)) std::swap(a, b);
    nodes_.push_back({x.size + y.size, std::min(x.lowest, y.lowest), a, b});
    return nodes_.size() - 1;
  }

  bool is_element(std::size_t node) const { return nodes_[node].size == 1; }

  std::string written(std::size_t node) const {
    std::vector<std::size_t> items;
    for (; !is_element(node); node = nodes_[node].first) items.push_back(nodes_[node].second);
    items.push_back(node);
    std::reverse(items.begin(), items.end());
    auto at = [&](std::size_t item) { return nodes_[items[item]].lowest; };
    if (items.size() > 2 && is_element(items[1]) && is_element(items[2]) && at(2) < at(0))
      std::swap(items[0], items[1]);
    std::string text;
    for (std::size_t begin = 0, end; begin < items.size(); begin = end) {
      end = begin;  // of the elements at equal distances that begin here
      while (end < items.size() && is_element(items[end]) &&
             (end - begin < 2 || at(end) - at(end - 1) == at(begin + 1) - at(begin)))
        ++end;
      text += begin == 0 ? "" : " ";
      if (end - begin > 2) {
        const std::int64_t step = std::abs(at(begin + 1) - at(begin));
        text += std::to_string(at(begin)) + ".." + std::to_string(at(end - 1));
        if (step > 1) text += "/" + std::to_string(step);
      } else {
        end = begin + 1;
        text += is_element(items[begin]) ? std::to_string(at(begin)) : "(" + written(items[begin]) + ")";
      }
    }
    return text;
  }

  const ElementsBelow& below_;
  std::vector<Node> nodes_;
  std::size_t root_;
  bool is_tree_ = true;
};

}  // namespace assay::test
