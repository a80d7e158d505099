#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/host/checked.h"
#include "ir/host/host.h"

// The normal form of host expressions. Integer sums are kept as polynomials, c + Σ coefficient · monomial; a monomial
// is a sorted product of other expressions. Min, max and comparisons examine the difference of two such sums; division
// takes the divisible terms of a sum out of the quotient. As a result, the offsets and lengths of repeated slices stay
// one small node.

namespace ingot::ir {

/// A sum: constant + Σ coefficient · term. The ids of the terms ascend, and no coefficient is 0. A term is any
/// expression that is not Affine.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<HostId, int64_t>> terms;

  void add(HostId term, int64_t coef) {
    const auto entry = std::ranges::lower_bound(terms, term, {}, &std::pair<HostId, int64_t>::first);
    if (entry == terms.end() || entry->first != term) {
      if (coef != 0) terms.insert(entry, {term, coef});
    } else if (entry->second = checked_add(entry->second, coef); entry->second == 0) {
      terms.erase(entry);
    }
  }

  void add(const Linear& other, int64_t factor) {
    constant = checked_add(constant, checked_mul(factor, other.constant));
    for (const auto& [term, coef] : other.terms) add(term, checked_mul(factor, coef));
  }

  bool is_constant() const { return terms.empty(); }
  /// Whether the sum is one term times a coefficient.
  bool is_term() const { return constant == 0 && terms.size() == 1; }
  /// The number of terms, plus 1 for a constant that is not 0.
  size_t summands() const { return terms.size() + (constant != 0); }
};

/// Implements HostPool::make. Sums, products and division are in host_linear.cpp, the other ops in host_fold.cpp.
class HostFolder {
 public:
  explicit HostFolder(HostPool& pool) : pool_(pool) {}

  HostId fold(HostOp op, std::vector<HostId> args, uint32_t b);

 private:
  using Args = const std::vector<HostId>&;

  // The rules for operands that are all integers, and those for operands of any kind. nullopt: no rule applies.
  std::optional<HostId> fold_integers(HostOp op, Args args);
  std::optional<HostId> fold_any(HostOp op, Args args, uint32_t b);
  HostKind result_kind(HostOp op, Args args) const;

  /// An integer as a sum, and the expression of a sum.
  Linear linear(HostId x);
  HostId node(const Linear& sum);
  Linear times(const Linear& x, const Linear& y);
  /// The product of two terms.
  HostId monomial(HostId x, HostId y);
  /// The factors of a Mul; x itself for other ops.
  std::vector<HostId> factors(HostId x) const;
  /// Removes the factors of y from the factors of x. Returns nullopt if y has a factor that x lacks.
  std::optional<std::vector<HostId>> without_factors(HostId x, HostId y) const;

  HostId floor_divide(HostId x, HostId y);
  HostId divide_by_constant(const Linear& x, int64_t divisor);
  std::optional<Linear> divide_by_term(const Linear& x, const Linear& y);
  HostId modulo(HostId x, HostId y);
  HostId extreme(HostOp op, Args args);
  HostId broadcast(Args args);
  /// The result of a comparison if it is the same for all values of the symbols, else nullopt.
  std::optional<bool> compare(HostOp op, HostId x, HostId y);

  // Whether an order holds for all values of the symbols; false if that is unknown.
  /// Whether x >= y.
  bool at_least(HostId x, HostId y);
  /// Whether x - y >= bound.
  bool difference_at_least(HostId x, HostId y, int64_t bound);
  bool is_nonnegative(const Linear& sum) const;

  HostId intern(HostOp op, HostKind kind, std::vector<HostId> args, uint32_t b = 0) {
    return pool_.intern({.op = op, .kind = kind, .b = b, .args = std::move(args)});
  }
  bool is(HostId x, HostOp op) const { return pool_[x].op == op; }
  HostId integer_of(HostId x) { return pool_.kind(x) == HostKind::Bool ? fold(HostOp::Int, {x}, 0) : x; }

  HostPool& pool_;
};

}  // namespace ingot::ir
