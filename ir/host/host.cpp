#include "ir/host/host.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/hash.h"
#include "ir/host/checked.h"

namespace ingot::ir {
namespace {

uint64_t bits_of(const HostValue& value) {
  return value.kind == HostKind::Float ? std::bit_cast<uint64_t>(value.real) : static_cast<uint64_t>(value.integer);
}

size_t hash_of(const HostNode& node) {
  size_t seed = 0;
  hash_combine(seed, static_cast<int>(node.op));
  hash_combine(seed, static_cast<int>(node.kind));
  hash_combine(seed, node.a);
  hash_combine(seed, node.b);
  hash_combine(seed, static_cast<int>(node.value.kind));
  hash_combine(seed, bits_of(node.value));
  hash_range(seed, node.args);
  hash_range(seed, node.coefs);
  return seed;
}

}  // namespace

HostValue HostValue::of(bool value) {
  HostValue result;
  result.kind = HostKind::Bool;
  result.integer = value;
  return result;
}

HostValue HostValue::of(int64_t value) {
  HostValue result;
  result.integer = value;
  return result;
}

HostValue HostValue::of(double value) {
  HostValue result;
  result.kind = HostKind::Float;
  result.real = value;
  return result;
}

int64_t HostValue::as_int() const { return integer; }

double HostValue::as_double() const { return kind == HostKind::Float ? real : static_cast<double>(integer); }

bool HostValue::truthy() const { return kind == HostKind::Float ? real != 0 : integer != 0; }

bool HostValue::operator==(const HostValue& other) const {
  return kind == other.kind && bits_of(*this) == bits_of(other);
}

HostId HostPool::constant(HostValue value) {
  return intern({.op = HostOp::Constant, .kind = value.kind, .value = value});
}

HostId HostPool::size(uint32_t param, uint32_t dim) {
  return intern({.op = HostOp::Size, .kind = HostKind::Int, .a = param, .b = dim});
}

HostId HostPool::scalar(uint32_t param, HostKind kind) {
  return intern({.op = HostOp::Scalar, .kind = kind, .a = param});
}

HostId HostPool::product(std::span<const HostId> factors) {
  HostId result = integer(1);
  for (const HostId factor : factors) result = mul(result, factor);
  return result;
}

HostId HostPool::resolve(HostId x) const {
  while (representative_[x.index] != x) x = representative_[x.index];
  return x;
}

void HostPool::assume_sizes_not_one() {
  sizes_not_one_ = true;
  refresh_facts();
}

void HostPool::assume_at_least(HostId size, int64_t bound) {
  Facts& facts = facts_[size.index];
  if (facts.lower_bound >= bound) return;
  facts.lower_bound = bound;
  facts.is_not_one |= bound > 1;
  refresh_facts();
}

void HostPool::refresh_facts() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Facts fact = facts_of(nodes_[i]);
    if (nodes_[i].op == HostOp::Size) {  // keep the assumptions about the symbol
      fact.lower_bound = std::max(fact.lower_bound, facts_[i].lower_bound);
      fact.is_not_one |= facts_[i].is_not_one;
    }
    facts_[i] = fact;
  }
}

bool HostPool::is_int(HostId id, int64_t value) const {
  const HostNode& node = nodes_[resolve(id).index];
  return node.op == HostOp::Constant && node.value == HostValue::of(value);
}

std::vector<HostId> HostPool::symbols(HostId id) const {
  std::vector<bool> needed(id.index + 1);
  needed[id.index] = true;
  std::vector<HostId> symbols;
  for (uint32_t i = id.index + 1; i-- > 0;) {
    if (!needed[i]) continue;
    const HostNode& node = nodes_[i];
    if (node.op == HostOp::Size || node.op == HostOp::Scalar) symbols.push_back({i});
    for (const HostId arg : node.args) needed[arg.index] = true;
  }
  std::ranges::reverse(symbols);
  return symbols;
}

bool HostPool::is_per_call(const HostNode& node) const {
  return node.op == HostOp::Scalar ||
         std::ranges::any_of(node.args, [&](HostId arg) { return nodes_[arg.index].per_call; });
}

HostId HostPool::append(HostNode node) {
  const HostId id{static_cast<uint32_t>(nodes_.size())};
  node.per_call = is_per_call(node);
  table_[hash_of(node)].push_back(id);
  facts_.push_back(facts_of(node));
  representative_.push_back(id);
  nodes_.push_back(std::move(node));
  return id;
}

HostId HostPool::intern(HostNode node) {
  spend(node.args.size());  // 0 for constants and symbols, because the op's source bounds their number
  node.per_call = is_per_call(node);
  if (const auto match = table_.find(hash_of(node)); match != table_.end()) {
    for (const HostId id : match->second) {
      if (nodes_[id.index] == node) return id;
    }
  }
  return append(std::move(node));
}

int64_t HostPool::lower_bound_of_sum(int64_t bound, int64_t coef, HostId term) const {
  const int64_t term_bound = facts_[term.index].lower_bound;
  if (bound == kUnbounded || term_bound == kUnbounded || coef < 0) return kUnbounded;
  __extension__ using Wide = __int128;
  const Wide sum = static_cast<Wide>(coef) * term_bound + bound;
  return static_cast<int64_t>(std::clamp<Wide>(sum, kUnbounded, INT64_MAX));
}

HostPool::Facts HostPool::facts_of(const HostNode& node) const {
  const auto lower_bound = [&](HostId x) { return facts_[x.index].lower_bound; };
  const auto nonnegative = [&](HostId x) { return lower_bound(x) >= 0; };
  const auto not_one = [&](HostId x) { return facts_[x.index].is_not_one; };
  const auto all = [&](const auto& fact) { return std::ranges::all_of(node.args, fact); };
  const auto any = [&](const auto& fact) { return std::ranges::any_of(node.args, fact); };
  const auto facts = [](int64_t bound, bool is_not_one) { return Facts{bound, is_not_one || bound > 1}; };

  if (node.kind == HostKind::Float) return {};
  switch (node.op) {
    case HostOp::Constant:
      return {node.value.integer, node.value.integer != 1};
    case HostOp::Size:
      return facts(0, sizes_not_one_);
    case HostOp::Affine: {
      const int64_t constant = node.value.integer;
      int64_t bound = constant;
      for (size_t i = 0; i < node.args.size(); ++i) bound = lower_bound_of_sum(bound, node.coefs[i], node.args[i]);
      // The sum can be 1 only if the greatest common divisor of the coefficients divides constant - 1.
      int64_t divisor = 0;
      for (const int64_t coef : node.coefs) {
        divisor = coef == INT64_MIN ? 1 : std::gcd(divisor, coef);
      }
      return facts(bound, divisor > 1 && floor_mod(constant, divisor) != 1);
    }
    case HostOp::Mul: {  // a product of nonnegative integers is 1 only if all factors are 1
      if (!all(nonnegative)) return {};
      int64_t bound = 1;
      for (const HostId factor : node.args) bound = lower_bound_of_sum(0, bound, factor);
      return facts(bound, any(not_one));
    }
    case HostOp::FloorDiv: {
      const HostId divisor = node.args[1];
      if (lower_bound(node.args[0]) != kUnbounded && is_constant(divisor) && value(divisor).integer > 0) {
        return facts(floor_div(lower_bound(node.args[0]), value(divisor).integer), false);
      }
      return facts(all(nonnegative) ? 0 : kUnbounded, false);
    }
    case HostOp::Mod:
      return facts(nonnegative(node.args[1]) ? 0 : kUnbounded, false);
    case HostOp::Min:
      return facts(std::ranges::min(node.args | std::views::transform(lower_bound)), all(not_one));
    case HostOp::Max:
      return facts(std::ranges::max(node.args | std::views::transform(lower_bound)), all(not_one));
    case HostOp::Broadcast:
      return facts(std::ranges::min(node.args | std::views::transform(lower_bound)), any(not_one));
    case HostOp::Select:
      return facts(std::min(lower_bound(node.args[1]), lower_bound(node.args[2])),
                   not_one(node.args[1]) && not_one(node.args[2]));
    case HostOp::IsNotOne:
    case HostOp::Abs:
      return facts(0, false);
    case HostOp::Int:
      return facts(lower_bound(node.args[0]), not_one(node.args[0]));
    default:
      return facts(node.kind == HostKind::Bool ? 0 : kUnbounded, false);
  }
}

}  // namespace ingot::ir
