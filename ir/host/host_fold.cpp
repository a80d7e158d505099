#include <stdexcept>

#include "base/error.h"
#include "ir/host/host_folder.h"

// The folding rules of HostPool::make.

namespace ingot::ir {

// The order of two integers

bool HostFolder::is_nonnegative(const Linear& sum) const {
  int64_t bound = sum.constant;
  for (const auto& [term, coef] : sum.terms) bound = pool_.lower_bound_of_sum(bound, coef, term);
  return bound >= 0;
}

bool HostFolder::difference_at_least(HostId x, HostId y, int64_t bound) {
  try {
    pool_.spend(1);
    Linear difference = linear(x);
    difference.add(linear(y), -1);
    difference.constant = checked_sub(difference.constant, bound);
    return is_nonnegative(difference);
  } catch (const std::domain_error&) {
    return false;  // the difference does not fit in 64 bits, so the order is unknown
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

/// Min or max of several integers. Flattens nested ones, so max(max(a, b) + c, d) with a constant c becomes max(a + c,
/// b + c, d). Drops each operand that another operand always dominates.
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

  const auto dominates = [&](HostId x, HostId y) { return op == HostOp::Max ? at_least(x, y) : at_least(y, x); };
  for (size_t i = 0; i < items.size();) {
    const HostId item = items[i];
    const bool is_dominated =
        std::ranges::any_of(std::vector(items), [&](HostId x) { return x != item && dominates(x, item); });
    if (is_dominated) {
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
    const std::vector<HostId> inner = is(arg, HostOp::Broadcast) ? pool_[arg].args : std::vector{arg};
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
    case HostOp::Gt:
      return compare(HostOp::Lt, y, x);
    case HostOp::Ge:
      return compare(HostOp::Le, y, x);
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
    case HostOp::Mul:
      return node(times(linear(args[0]), linear(args[1])));
    case HostOp::FloorDiv:
      return floor_divide(args[0], args[1]);
    case HostOp::Mod:
      return modulo(args[0], args[1]);
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
    case HostOp::Round:
      return integer_of(args[0]);
    case HostOp::IsNotOne:
      if (pool_.known_not_one(args[0])) return pool_.integer(1);
      return std::nullopt;
    case HostOp::Broadcast:
      return broadcast(args);
    default:
      return std::nullopt;
  }
}

std::optional<HostId> HostFolder::fold_any(HostOp op, Args args, uint32_t b) {
  switch (op) {
    case HostOp::Select: {
      const bool is_known = pool_.is_constant(args[0]);
      if (pool_.kind(args[1]) != pool_.kind(args[2]) && !is_known) return std::nullopt;
      if (is_known) return pool_.value(args[0]).truthy() ? args[1] : args[2];
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
    default:
      return std::nullopt;
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
    case HostOp::Abs:
      return std::max(widest, HostKind::Int);
    case HostOp::Pow: {
      if (pool_.kind_depends_on_value(op, args)) {
        throw_internal("the kind of an int raised to a run-time int is unknown; the exponent must be static");
      }
      const bool is_negative = pool_.is_constant(args[1]) && pool_.value(args[1]).as_double() < 0;
      return is_negative ? HostKind::Float : std::max(widest, HostKind::Int);
    }
    case HostOp::Min:
    case HostOp::Max:
      return widest;
    case HostOp::Select:
      return std::max(pool_.kind(args[1]), pool_.kind(args[2]));
    case HostOp::Lt:
    case HostOp::Le:
    case HostOp::Gt:
    case HostOp::Ge:
    case HostOp::Eq:
    case HostOp::Ne:
    case HostOp::Not:
    case HostOp::Bool:
      return HostKind::Bool;
    case HostOp::Int:
    case HostOp::Floor:
    case HostOp::Ceil:
    case HostOp::Trunc:
    case HostOp::Round:
    case HostOp::IsNotOne:
    case HostOp::Broadcast:
      return HostKind::Int;
    default:
      return HostKind::Float;
  }
}

HostId HostFolder::fold(HostOp op, std::vector<HostId> args, uint32_t b) {
  for (HostId& arg : args) arg = pool_.resolve(arg);
  if (std::ranges::all_of(args, [&](HostId arg) { return pool_.is_constant(arg); })) {
    std::vector<HostValue> values;
    for (const HostId arg : args) values.push_back(pool_.value(arg));
    return pool_.constant(apply(op, values, b));
  }
  const bool are_integers = std::ranges::none_of(args, [&](HostId arg) { return pool_.kind(arg) == HostKind::Float; });
  if (are_integers) {
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
      return kind(args[0]) != HostKind::Float && kind(args[1]) == HostKind::Int && !is_constant(resolve(args[1])) &&
             !known_nonnegative(args[1]);
    case HostOp::Min:
    case HostOp::Max:
      return kind(args[0]) != kind(args[1]);
    case HostOp::Select:
      return !is_constant(resolve(args[0])) && kind(args[1]) != kind(args[2]);
    default:
      return false;
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
