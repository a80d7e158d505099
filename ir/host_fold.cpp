#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "ir/checked.h"
#include "ir/host.h"

// The normal form of host expressions. Integer sums are kept as polynomials, c + Σ coefficient · monomial, each monomial
// a sorted product of other expressions; division, min, max and comparisons look at the difference of two such sums.
// It is this that lets the offsets and lengths of a slice of a slice of a slice stay one small node.

namespace ingot::ir {
namespace {

/// constant + Σ coefficient · term; terms ascend, no coefficient is 0.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<HostId, int64_t>> terms;

  void add(HostId term, int64_t coef) {
    const auto at = std::ranges::lower_bound(terms, term, {}, &std::pair<HostId, int64_t>::first);
    if (at == terms.end() || at->first != term) {
      if (coef != 0) terms.insert(at, {term, coef});
    } else if (at->second = checked_add(at->second, coef); at->second == 0) {
      terms.erase(at);
    }
  }

  void add(const Linear& other, int64_t factor) {
    constant = checked_add(constant, checked_mul(factor, other.constant));
    for (const auto& [term, coef] : other.terms) add(term, checked_mul(factor, coef));
  }

  bool is_constant() const { return terms.empty(); }
  bool is_term() const { return constant == 0 && terms.size() == 1; }
  size_t summands() const { return terms.size() + (constant != 0); }
};

/// A product of sums with more summands than this is kept as a product.
constexpr size_t kMostSummands = 16;

}  // namespace

class HostFolder {
 public:
  explicit HostFolder(HostPool& pool) : pool_(pool) {}

  HostId fold(HostOp op, std::vector<HostId> args, uint32_t b);

 private:
  using Args = const std::vector<HostId>&;

  std::optional<HostId> fold_integers(HostOp op, Args args);
  std::optional<HostId> fold_any(HostOp op, Args args, uint32_t b);
  HostKind result_kind(HostOp op, Args args) const;

  Linear linear(HostId x);
  HostId node(const Linear& sum);
  Linear times(const Linear& x, const Linear& y);
  HostId monomial(HostId x, HostId y);
  std::vector<HostId> factors(HostId x) const;
  /// The factors of x that are left when those of y are taken away; nothing if y has others.
  std::optional<std::vector<HostId>> without(HostId x, HostId y) const;

  HostId floor_divide(HostId x, HostId y);
  HostId divide_by_constant(const Linear& x, int64_t divisor);
  std::optional<Linear> divide_by_term(const Linear& x, const Linear& y);
  HostId modulo(HostId x, HostId y);
  HostId extreme(HostOp op, Args args);
  HostId broadcast(Args args);
  std::optional<bool> compare(HostOp op, HostId x, HostId y);

  /// Whether x >= y, or x > y, whatever the symbols are.
  bool at_least(HostId x, HostId y);
  bool difference_at_least(HostId x, HostId y, int64_t bound);
  bool nonnegative(const Linear& sum) const;

  HostId intern(HostOp op, HostKind kind, std::vector<HostId> args, uint32_t b = 0) {
    return pool_.intern({.op = op, .kind = kind, .b = b, .args = std::move(args)});
  }
  bool is(HostId x, HostOp op) const { return pool_[x].op == op; }
  HostId integer_of(HostId x) {
    return pool_.kind(x) == HostKind::Bool ? fold(HostOp::Int, {x}, 0) : x;
  }

  HostPool& pool_;
};

// Sums and products

Linear HostFolder::linear(HostId x) {
  x = integer_of(pool_.resolve(x));
  const HostNode& node = pool_[x];
  if (node.op == HostOp::Constant) return {node.value.integer, {}};
  if (node.op != HostOp::Affine) return {0, {{x, 1}}};
  Linear sum{node.value.integer, {}};
  const HostNode affine = node;  // resolving may append to the pool
  for (size_t i = 0; i < affine.args.size(); ++i) {
    const HostId term = pool_.resolve(affine.args[i]);
    if (term == affine.args[i]) {
      sum.add(term, affine.coefs[i]);
    } else {
      sum.add(linear(term), affine.coefs[i]);
    }
  }
  return sum;
}

HostId HostFolder::node(const Linear& sum) {
  if (sum.is_constant()) return pool_.integer(sum.constant);
  if (sum.is_term() && sum.terms[0].second == 1) return sum.terms[0].first;
  HostNode affine{
      .op = HostOp::Affine, .kind = HostKind::Int, .value = HostValue::of(sum.constant)};
  for (const auto& [term, coef] : sum.terms) {
    affine.args.push_back(term);
    affine.coefs.push_back(coef);
  }
  return pool_.intern(std::move(affine));
}

std::vector<HostId> HostFolder::factors(HostId x) const {
  return is(x, HostOp::Mul) ? pool_[x].args : std::vector{x};
}

HostId HostFolder::monomial(HostId x, HostId y) {
  std::vector<HostId> all = factors(x), more = factors(y);
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all);
  const auto repeated = std::unique(all.begin(), all.end(), [&](HostId a, HostId b) {
    return a == b && is(a, HostOp::NotOne);  // 0 or 1, so its own square
  });
  all.erase(repeated, all.end());
  return all.size() == 1 ? all[0] : intern(HostOp::Mul, HostKind::Int, std::move(all));
}

Linear HostFolder::times(const Linear& x, const Linear& y) {
  if (!x.is_constant() && !y.is_constant() && x.summands() * y.summands() > kMostSummands) {
    return {0, {{monomial(node(x), node(y)), 1}}};
  }
  Linear product;
  product.add(y, x.constant);
  for (const auto& [x_term, x_coef] : x.terms) {
    product.add(x_term, checked_mul(x_coef, y.constant));
    for (const auto& [y_term, y_coef] : y.terms) {
      product.add(monomial(x_term, y_term), checked_mul(x_coef, y_coef));
    }
  }
  return product;
}

// Division

std::optional<std::vector<HostId>> HostFolder::without(HostId x, HostId y) const {
  std::vector<HostId> rest = factors(x);
  for (const HostId factor : factors(y)) {
    const auto at = std::ranges::find(rest, factor);
    if (at == rest.end()) return std::nullopt;
    rest.erase(at);
  }
  return rest;
}

/// x // (k·m) where every summand of x has k and m as factors.
std::optional<Linear> HostFolder::divide_by_term(const Linear& x, const Linear& y) {
  const auto [divisor, divisor_coef] = y.terms[0];
  if (x.constant != 0) return std::nullopt;
  Linear quotient;
  for (const auto& [term, coef] : x.terms) {
    const auto rest = without(term, divisor);
    if (!rest || floor_mod(coef, divisor_coef) != 0) return std::nullopt;
    Linear summand{floor_div(coef, divisor_coef), {}};
    for (const HostId factor : *rest) summand = times(summand, linear(factor));
    quotient.add(summand, 1);
  }
  return quotient;
}

/// (k·q + r) // k is q + r // k.
HostId HostFolder::divide_by_constant(const Linear& x, int64_t divisor) {
  Linear whole{floor_div(x.constant, divisor), {}};
  Linear rest{floor_mod(x.constant, divisor), {}};
  for (const auto& [term, coef] : x.terms) {
    if (floor_mod(coef, divisor) == 0) {
      whole.add(term, floor_div(coef, divisor));
    } else {
      rest.add(term, coef);
    }
  }
  if (rest.is_constant()) return node(whole);

  if (divisor > 0 && rest.is_term() && rest.terms[0].second == 1) {  // n // p // q is n // (p·q)
    const HostNode& inner = pool_[rest.terms[0].first];
    if (inner.op == HostOp::FloorDiv && pool_.is_constant(inner.args[1])) {
      const int64_t p = pool_.value(inner.args[1]).integer;
      int64_t both;
      if (p != 0 && !__builtin_mul_overflow(p, divisor, &both)) {
        const HostId dividend = inner.args[0];
        whole.add(linear(fold(HostOp::FloorDiv, {dividend, pool_.integer(both)}, 0)), 1);
        return node(whole);
      }
    }
  }
  const std::vector<HostId> args{node(rest), pool_.integer(divisor)};
  whole.add(intern(HostOp::FloorDiv, HostKind::Int, args), 1);
  return node(whole);
}

HostId HostFolder::floor_divide(HostId x, HostId y) {
  const Linear dividend = linear(x), divisor = linear(y);
  if (divisor.is_constant() && divisor.constant != 0) {
    return divide_by_constant(dividend, divisor.constant);
  }
  if (divisor.is_term()) {
    if (const auto quotient = divide_by_term(dividend, divisor)) return node(*quotient);
  }
  return intern(HostOp::FloorDiv, HostKind::Int, {node(dividend), node(divisor)});
}

HostId HostFolder::modulo(HostId x, HostId y) {
  Linear dividend = linear(x);
  const Linear divisor = linear(y);
  if (divisor.is_constant() && divisor.constant != 0) {
    dividend.constant = floor_mod(dividend.constant, divisor.constant);
    std::erase_if(dividend.terms, [&](const auto& term) {
      return floor_mod(term.second, divisor.constant) == 0;
    });
    if (dividend.is_constant()) return pool_.integer(dividend.constant);
  } else if (divisor.is_term() && divide_by_term(dividend, divisor)) {
    return pool_.integer(0);
  }
  return intern(HostOp::Mod, HostKind::Int, {node(dividend), node(divisor)});
}

// Order

bool HostFolder::nonnegative(const Linear& sum) const {
  return sum.constant >= 0 && std::ranges::all_of(sum.terms, [&](const auto& term) {
           return term.second > 0 && pool_.known_nonnegative(term.first);
         });
}

bool HostFolder::difference_at_least(HostId x, HostId y, int64_t bound) {
  try {
    Linear difference = linear(x);
    difference.add(linear(y), -1);
    difference.constant = checked_sub(difference.constant, bound);
    return nonnegative(difference);
  } catch (const std::domain_error&) {
    return false;  // too large to tell
  }
}

bool HostFolder::at_least(HostId x, HostId y) {
  if (difference_at_least(x, y, 0)) return true;
  const auto any = [](Args items, const auto& test) { return std::ranges::any_of(items, test); };
  if (is(x, HostOp::Max)) {
    const std::vector<HostId> items = pool_[x].args;
    if (any(items, [&](HostId item) { return difference_at_least(item, y, 0); })) return true;
  }
  if (is(y, HostOp::Min)) {
    const std::vector<HostId> items = pool_[y].args;
    if (any(items, [&](HostId item) { return difference_at_least(x, item, 0); })) return true;
  }
  return false;
}

/// The extreme of several integers: those of nested extremes are its own, max(max(a, b) + c, d) is max(a + c, b + c, d),
/// and what another one always covers is dropped.
HostId HostFolder::extreme(HostOp op, Args args) {
  std::vector<HostId> items;
  for (const HostId arg : args) {
    const Linear sum = linear(arg);
    if (sum.terms.size() == 1 && sum.terms[0].second == 1 && is(sum.terms[0].first, op)) {
      const std::vector<HostId> inner = pool_[sum.terms[0].first].args;
      for (const HostId item : inner) {
        Linear shifted = linear(item);
        shifted.constant = checked_add(shifted.constant, sum.constant);
        items.push_back(node(shifted));
      }
    } else {
      items.push_back(node(sum));
    }
  }
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());

  const auto covers = [&](HostId x, HostId y) {
    return op == HostOp::Max ? at_least(x, y) : at_least(y, x);
  };
  for (size_t i = 0; i < items.size();) {
    const HostId item = items[i];
    const bool covered =
        std::ranges::any_of(std::vector(items), [&](HostId x) { return x != item && covers(x, item); });
    if (covered) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return items.size() == 1 ? items[0] : intern(op, HostKind::Int, std::move(items));
}

HostId HostFolder::broadcast(Args args) {
  std::vector<HostId> items;
  for (const HostId arg : args) {
    const std::vector<HostId> inner =
        is(arg, HostOp::Broadcast) ? pool_[arg].args : std::vector{arg};
    for (const HostId item : inner) {
      if (pool_.known_not_one(item)) return pool_.resolve(item);
      if (!pool_.is_int(item, 1)) items.push_back(pool_.resolve(item));
    }
  }
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
  if (items.empty()) return pool_.integer(1);
  return items.size() == 1 ? items[0] : intern(HostOp::Broadcast, HostKind::Int, std::move(items));
}

std::optional<bool> HostFolder::compare(HostOp op, HostId x, HostId y) {
  switch (op) {
    case HostOp::Lt:
      if (difference_at_least(y, x, 1)) return true;
      if (at_least(x, y)) return false;
      return std::nullopt;
    case HostOp::Le:
      if (at_least(y, x)) return true;
      if (difference_at_least(x, y, 1)) return false;
      return std::nullopt;
    case HostOp::Gt: return compare(HostOp::Lt, y, x);
    case HostOp::Ge: return compare(HostOp::Le, y, x);
    case HostOp::Eq:
      if (pool_.same(x, y)) return true;
      if (difference_at_least(x, y, 1) || difference_at_least(y, x, 1)) return false;
      if (pool_.is_int(x, 1) && pool_.known_not_one(y)) return false;
      if (pool_.is_int(y, 1) && pool_.known_not_one(x)) return false;
      return std::nullopt;
    default:
      if (const auto equal = compare(HostOp::Eq, x, y)) return !*equal;
      return std::nullopt;
  }
}

// All rules, by op

std::optional<HostId> HostFolder::fold_integers(HostOp op, Args args) {
  switch (op) {
    case HostOp::Add:
    case HostOp::Sub: {
      Linear sum = linear(args[0]);
      sum.add(linear(args[1]), op == HostOp::Add ? 1 : -1);
      return node(sum);
    }
    case HostOp::Neg: {
      Linear negated;
      negated.add(linear(args[0]), -1);
      return node(negated);
    }
    case HostOp::Mul: return node(times(linear(args[0]), linear(args[1])));
    case HostOp::FloorDiv: return floor_divide(args[0], args[1]);
    case HostOp::Mod: return modulo(args[0], args[1]);
    case HostOp::Pow: {
      if (!pool_.is_constant(args[1])) return std::nullopt;
      const int64_t exponent = pool_.value(args[1]).integer;
      if (exponent < 0 || exponent > 4) return std::nullopt;
      return pool_.product(std::vector(static_cast<size_t>(exponent), args[0]));
    }
    case HostOp::Min:
    case HostOp::Max:
      if (pool_.kind(args[0]) == pool_.kind(args[1]) && pool_.kind(args[0]) == HostKind::Int) {
        return extreme(op, args);
      }
      return std::nullopt;
    case HostOp::Abs:
      if (pool_.known_nonnegative(args[0])) return integer_of(args[0]);
      return std::nullopt;
    case HostOp::Lt:
    case HostOp::Le:
    case HostOp::Gt:
    case HostOp::Ge:
    case HostOp::Eq:
    case HostOp::Ne:
      if (const auto known = compare(op, args[0], args[1])) return pool_.boolean(*known);
      return std::nullopt;
    case HostOp::Int:
      if (pool_.kind(args[0]) == HostKind::Int) return args[0];
      return std::nullopt;
    case HostOp::Floor:
    case HostOp::Ceil:
    case HostOp::Trunc:
    case HostOp::Round: return integer_of(args[0]);
    case HostOp::NotOne:
      if (pool_.known_not_one(args[0])) return pool_.integer(1);
      return std::nullopt;
    case HostOp::Broadcast: return broadcast(args);
    default: return std::nullopt;
  }
}

std::optional<HostId> HostFolder::fold_any(HostOp op, Args args, uint32_t b) {
  switch (op) {
    case HostOp::Select: {
      const bool settled = pool_.is_constant(args[0]);
      if (pool_.kind(args[1]) != pool_.kind(args[2]) && !settled) return std::nullopt;
      if (settled) return pool_.value(args[0]).truthy() ? args[1] : args[2];
      if (args[1] == args[2]) return args[1];
      return std::nullopt;
    }
    case HostOp::Float:
      if (pool_.kind(args[0]) == HostKind::Float) return args[0];
      return std::nullopt;
    case HostOp::Bool:
      if (pool_.kind(args[0]) == HostKind::Bool) return args[0];
      return std::nullopt;
    case HostOp::Not:
      if (is(args[0], HostOp::Not)) return fold(HostOp::Bool, {pool_[args[0]].args[0]}, 0);
      return std::nullopt;
    case HostOp::RoundTo:
      if (static_cast<DType>(b) == DType::F64) return fold(HostOp::Float, args, 0);
      if (is(args[0], HostOp::RoundTo) && pool_[args[0]].b == b) return args[0];
      return std::nullopt;
    default: return std::nullopt;
  }
}

HostKind HostFolder::result_kind(HostOp op, Args args) const {
  HostKind widest = HostKind::Bool;
  for (const HostId arg : args) widest = std::max(widest, pool_.kind(arg));
  switch (op) {
    case HostOp::Add:
    case HostOp::Sub:
    case HostOp::Mul:
    case HostOp::FloorDiv:
    case HostOp::Mod:
    case HostOp::Neg:
    case HostOp::Abs: return std::max(widest, HostKind::Int);
    case HostOp::Pow: {
      if (pool_.kind_depends_on_value(op, args)) {
        throw_internal("an int to the power of a run-time int has no kind; it should be static");
      }
      const bool negative =
          pool_.is_constant(args[1]) && pool_.value(args[1]).as_double() < 0;
      return negative ? HostKind::Float : std::max(widest, HostKind::Int);
    }
    case HostOp::Min:
    case HostOp::Max: return widest;
    case HostOp::Select: return std::max(pool_.kind(args[1]), pool_.kind(args[2]));
    case HostOp::Lt:
    case HostOp::Le:
    case HostOp::Gt:
    case HostOp::Ge:
    case HostOp::Eq:
    case HostOp::Ne:
    case HostOp::Not:
    case HostOp::Bool: return HostKind::Bool;
    case HostOp::Int:
    case HostOp::Floor:
    case HostOp::Ceil:
    case HostOp::Trunc:
    case HostOp::Round:
    case HostOp::NotOne:
    case HostOp::Broadcast: return HostKind::Int;
    default: return HostKind::Float;
  }
}

HostId HostFolder::fold(HostOp op, std::vector<HostId> args, uint32_t b) {
  for (HostId& arg : args) arg = pool_.resolve(arg);
  if (std::ranges::all_of(args, [&](HostId arg) { return pool_.is_constant(arg); })) {
    std::vector<HostValue> values;
    for (const HostId arg : args) values.push_back(pool_.value(arg));
    return pool_.constant(apply(op, values, b));
  }
  const bool integers = std::ranges::none_of(
      args, [&](HostId arg) { return pool_.kind(arg) == HostKind::Float; });
  if (integers) {
    if (const auto folded = fold_integers(op, args)) return *folded;
  }
  if (const auto folded = fold_any(op, args, b)) return *folded;
  const HostKind kind = result_kind(op, args);
  return intern(op, kind, std::move(args), b);
}

HostId HostPool::make(HostOp op, std::vector<HostId> args, uint32_t b) {
  return HostFolder(*this).fold(op, std::move(args), b);
}

bool HostPool::kind_depends_on_value(HostOp op, std::span<const HostId> args) const {
  switch (op) {
    case HostOp::Pow:
      return kind(args[0]) != HostKind::Float && kind(args[1]) == HostKind::Int &&
             !is_constant(resolve(args[1])) && !known_nonnegative(args[1]);
    case HostOp::Min:
    case HostOp::Max: return kind(args[0]) != kind(args[1]);
    case HostOp::Select: return !is_constant(resolve(args[0])) && kind(args[1]) != kind(args[2]);
    default: return false;
  }
}

void HostPool::unify(HostId x, HostId y) {
  x = resolve(x);
  y = resolve(y);
  if (x == y || (is_constant(x) && is_constant(y))) return;
  if (is_constant(y) || (!is_constant(x) && y < x)) std::swap(x, y);
  representative_[y.index] = x;
}

}  // namespace ingot::ir
