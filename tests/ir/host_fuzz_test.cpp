#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <stdexcept>

#include "ir/host/host.h"

// Random expressions: the folded expression must evaluate to the value of unfolded, op-by-op arithmetic.

namespace ingot::ir {
namespace {

constexpr int kAssignments = 6;  ///< the number of assignments of values to the symbols
constexpr int64_t kLarge = 7;    ///< the lower bound of the size that is large in some rounds

/// An expression and its value under each assignment of the symbols, computed without the pool; no value if Python
/// raises an error.
struct Expression {
  HostId id;
  std::array<std::optional<HostValue>, kAssignments> values;
};

class Fuzz {
 public:
  Fuzz(uint32_t seed, bool sizes_not_one) : random_(seed) {
    if (sizes_not_one) pool_.assume_sizes_not_one();
    for (auto& sizes : sizes_) {
      for (int64_t& size : sizes) size = sizes_not_one ? pick<int64_t>({0, 2, 3, 5, 6}) : below(5);
    }
    // In every third round, two sizes are equal. declare_equal_sizes tells the pool so after half of the steps.
    if (seed % 3 == 0) {
      for (auto& sizes : sizes_) sizes[1] = sizes[0];
    }
    // In every fifth round, one size is large. declare_large_size tells the pool the lower bound of that
    // size after half of the steps.
    if (seed % 5 == 0) {
      for (auto& sizes : sizes_) sizes[2] = kLarge + static_cast<int64_t>(below(3));
    }
    for (auto& numbers : integers_) {
      for (int64_t& number : numbers) number = below(13) - 6;
    }
    for (double& number : reals_) number = pick<double>({0.5, -0.0, -2.25, 3.0, 1e300});
    for (uint32_t d = 0; d < 3; ++d) {
      add(pool_.size(0, d), [&](int a) { return HostValue::of(sizes_[a][d]); });
    }
    for (uint32_t p = 0; p < 2; ++p) {
      add(pool_.scalar(1 + p, HostKind::Int), [&](int a) { return HostValue::of(integers_[a][p]); });
    }
    for (const int64_t constant : {-3, -1, 0, 1, 2, 4}) {
      add(pool_.integer(constant), [&](int) { return HostValue::of(constant); });
    }
    add(pool_.scalar(3, HostKind::Float), [&](int a) { return HostValue::of(reals_[a]); });
  }

  /// Adds an expression of a random op over existing expressions.
  void grow() {
    static constexpr HostOp kOps[] = {
        HostOp::Add,     HostOp::Add, HostOp::Sub,       HostOp::Sub,      HostOp::Mul, HostOp::Mul,   HostOp::FloorDiv,
        HostOp::Mod,     HostOp::Neg, HostOp::Min,       HostOp::Max,      HostOp::Max, HostOp::Lt,    HostOp::Le,
        HostOp::Eq,      HostOp::Ne,  HostOp::Select,    HostOp::IsNotOne, HostOp::Abs, HostOp::Int,   HostOp::Not,
        HostOp::TrueDiv, HostOp::Pow, HostOp::Broadcast, HostOp::Gt,       HostOp::Ge,  HostOp::Float, HostOp::Round};
    const HostOp op = kOps[below(std::size(kOps))];
    std::vector<const Expression*> args;
    for (size_t i = 0; i < arity(op); ++i) args.push_back(&expressions_[below(expressions_.size())]);
    std::vector<HostId> ids;
    for (const Expression* arg : args) ids.push_back(arg->id);
    if (!accepts(op, ids) || pool_.kind_depends_on_value(op, ids)) return;

    Expression result;
    for (int a = 0; a < kAssignments; ++a) {
      result.values[a] = unfolded_value(op, args, a);
      if (!result.values[a]) return;
    }
    result.id = pool_.make(op, ids);
    expressions_.push_back(result);
  }

  void declare_large_size() { pool_.assume_at_least(pool_.size(0, 2), kLarge); }
  void declare_equal_sizes() { pool_.unify(pool_.size(0, 0), pool_.size(0, 1)); }

  void check() {
    for (int a = 0; a < kAssignments; ++a) {
      std::vector<HostValue> slots(pool_.count());
      const HostInputs inputs{
          .size = [&](uint32_t, uint32_t d) { return sizes_[a][d]; },
          .scalar = [&](uint32_t p) { return p == 3 ? HostValue::of(reals_[a]) : HostValue::of(integers_[a][p - 1]); }};
      evaluate(pool_, inputs, slots);
      for (const Expression& expression : expressions_) {
        ASSERT_EQ(slots[expression.id.index], *expression.values[a]) << pool_.print(expression.id, kNames);
        if (pool_.kind(expression.id) == HostKind::Float) continue;
        ASSERT_GE(expression.values[a]->integer, pool_.lower_bound(expression.id))
            << pool_.print(expression.id, kNames);
        if (pool_.known_not_one(expression.id)) {
          ASSERT_NE(expression.values[a]->integer, 1) << pool_.print(expression.id, kNames);
        }
      }
    }
  }

 private:
  static inline const std::vector<std::string> kNames{"t", "p", "q", "x"};

  static size_t arity(HostOp op) {
    switch (op) {
      case HostOp::Select:
        return 3;
      case HostOp::Neg:
      case HostOp::IsNotOne:
      case HostOp::Abs:
      case HostOp::Int:
      case HostOp::Not:
      case HostOp::Float:
      case HostOp::Round:
        return 1;
      default:
        return 2;
    }
  }

  bool accepts(HostOp op, const std::vector<HostId>& ids) const {
    for (const HostId id : ids) {
      if ((op == HostOp::IsNotOne || op == HostOp::Broadcast) && pool_.kind(id) != HostKind::Int) {
        return false;
      }
    }
    return true;
  }

  static std::optional<HostValue> unfolded_value(HostOp op, const std::vector<const Expression*>& args, int a) {
    std::vector<HostValue> values;
    for (const Expression* arg : args) values.push_back(*arg->values[a]);
    if (op == HostOp::Broadcast && values[0].integer != values[1].integer && values[0].integer != 1 &&
        values[1].integer != 1) {
      return std::nullopt;
    }
    try {
      const HostValue value = ir::apply(op, values);
      // Keep values small, so that neither coefficients nor intermediate sums overflow.
      if (value.kind != HostKind::Float && std::abs(value.integer) > 100'000) return std::nullopt;
      return value;
    } catch (const std::domain_error&) {
      return std::nullopt;
    }
  }

  template <typename Value>
  void add(HostId id, const Value& value) {
    Expression leaf{id, {}};
    for (int a = 0; a < kAssignments; ++a) leaf.values[a] = value(a);
    expressions_.push_back(leaf);
  }

  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

  std::mt19937 random_;
  HostPool pool_;
  std::array<std::array<int64_t, 3>, kAssignments> sizes_;
  std::array<std::array<int64_t, 2>, kAssignments> integers_;
  std::array<double, kAssignments> reals_;
  std::vector<Expression> expressions_;
};

class HostFuzz : public testing::TestWithParam<bool> {};

TEST_P(HostFuzz, FoldingMatchesPython) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Fuzz fuzz(seed, GetParam());
    try {
      for (int step = 0; step < 30; ++step) fuzz.grow();
      if (seed % 3 == 0) fuzz.declare_equal_sizes();
      if (seed % 5 == 0) fuzz.declare_large_size();
      for (int step = 0; step < 30; ++step) fuzz.grow();
      fuzz.check();
    } catch (const std::domain_error& error) {
      FAIL() << "raised: " << error.what();
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, HostFuzz, testing::Values(false, true),
                         [](const auto& which) { return which.param ? "NotOne" : "Any"; });

}  // namespace
}  // namespace ingot::ir
