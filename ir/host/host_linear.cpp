#include "ir/host/host_folder.h"

// Sums, products and exact division of polynomials over host integers.

namespace ingot::ir {
namespace {

/// A product of two sums is expanded only if the numbers of their summands have at most this product.
constexpr size_t kMaxSummands = 16;

}  // namespace

// Sums and products

Linear HostFolder::linear(HostId x) {
  x = integer_of(pool_.resolve(x));
  const HostNode& node = pool_[x];
  if (node.op == HostOp::Constant) return {node.value.integer, {}};
  if (node.op != HostOp::Affine) return {0, {{x, 1}}};
  pool_.spend(node.args.size());
  Linear sum{node.value.integer, {}};
  const HostNode affine = node;  // a copy, because resolving may append to the pool
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
  HostNode affine{.op = HostOp::Affine, .kind = HostKind::Int, .value = HostValue::of(sum.constant)};
  for (const auto& [term, coef] : sum.terms) {
    affine.args.push_back(term);
    affine.coefs.push_back(coef);
  }
  return pool_.intern(std::move(affine));
}

std::vector<HostId> HostFolder::factors(HostId x) const { return is(x, HostOp::Mul) ? pool_[x].args : std::vector{x}; }

HostId HostFolder::monomial(HostId x, HostId y) {
  std::vector<HostId> all = factors(x), more = factors(y);
  all.insert(all.end(), more.begin(), more.end());
  pool_.spend(all.size());
  std::ranges::sort(all);
  const auto repeated = std::unique(all.begin(), all.end(), [&](HostId a, HostId b) {
    return a == b && is(a, HostOp::IsNotOne);  // IsNotOne is 0 or 1, so it equals its square
  });
  all.erase(repeated, all.end());
  return all.size() == 1 ? all[0] : intern(HostOp::Mul, HostKind::Int, std::move(all));
}

Linear HostFolder::times(const Linear& x, const Linear& y) {
  if (!x.is_constant() && !y.is_constant() && x.summands() * y.summands() > kMaxSummands) {
    return {0, {{monomial(node(x), node(y)), 1}}};
  }
  pool_.spend(x.summands() * y.summands());
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

std::optional<std::vector<HostId>> HostFolder::without_factors(HostId x, HostId y) const {
  std::vector<HostId> rest = factors(x);
  for (const HostId factor : factors(y)) {
    const auto match = std::ranges::find(rest, factor);
    if (match == rest.end()) return std::nullopt;
    rest.erase(match);
  }
  return rest;
}

/// x // y for a y of one term, k·m, if every summand of x has the factors k and m; else nullopt.
std::optional<Linear> HostFolder::divide_by_term(const Linear& x, const Linear& y) {
  const auto [divisor, divisor_coef] = y.terms[0];
  if (x.constant != 0) return std::nullopt;
  Linear quotient;
  for (const auto& [term, coef] : x.terms) {
    const auto rest = without_factors(term, divisor);
    if (!rest || floor_mod(coef, divisor_coef) != 0) return std::nullopt;
    Linear summand{floor_div(coef, divisor_coef), {}};
    for (const HostId factor : *rest) summand = times(summand, linear(factor));
    quotient.add(summand, 1);
  }
  return quotient;
}

/// Divides by a constant k, with x = k·q + r: the quotient is q + r // k.
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
    std::erase_if(dividend.terms, [&](const auto& term) { return floor_mod(term.second, divisor.constant) == 0; });
    if (dividend.is_constant()) return pool_.integer(dividend.constant);
  } else if (divisor.is_term() && divide_by_term(dividend, divisor)) {
    return pool_.integer(0);
  }
  return intern(HostOp::Mod, HostKind::Int, {node(dividend), node(divisor)});
}

}  // namespace ingot::ir
