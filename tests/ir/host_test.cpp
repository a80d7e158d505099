#include "ir/host/host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"

namespace ingot::ir {
namespace {

/// A pool with three sizes and two scalars, and short helpers for writing expressions.
struct Host : testing::Test {
  HostPool pool;
  HostId n = pool.size(0, 0), m = pool.size(0, 1), k = pool.size(1, 0);
  HostId x = pool.scalar(2, HostKind::Float), i = pool.scalar(3, HostKind::Int);
  const std::vector<std::string> names{"a", "b", "x", "i"};

  HostId c(int64_t value) { return pool.integer(value); }
  HostId make(HostOp op, std::vector<HostId> args, uint32_t b = 0) { return pool.make(op, std::move(args), b); }
  std::string text(HostId id) const { return pool.print(id, names); }
};

TEST_F(Host, SharesEqualSums) {
  const HostId a = pool.add(pool.mul(n, c(4)), pool.sub(m, c(3)));
  const HostId b = pool.sub(pool.add(m, pool.mul(pool.add(n, n), c(2))), c(3));
  EXPECT_EQ(a, b);
  EXPECT_EQ(pool.sub(a, b), c(0));
  EXPECT_EQ(pool.sub(pool.add(n, m), m), n);
  EXPECT_EQ(make(HostOp::Neg, {make(HostOp::Neg, {n})}), n);
  EXPECT_EQ(pool.mul(n, c(0)), c(0));
  EXPECT_EQ(text(a), "a.size(0)*4 + a.size(1) - 3");
  EXPECT_EQ(text(pool.sub(c(1), n)), "1 - a.size(0)");
  EXPECT_EQ(text(make(HostOp::Neg, {n})), "-a.size(0)");
}

TEST_F(Host, SharesEqualProducts) {
  EXPECT_EQ(pool.mul(pool.mul(n, m), k), pool.mul(n, pool.mul(k, m)));
  EXPECT_EQ(pool.mul(pool.add(n, c(1)), m), pool.add(pool.mul(m, n), m));
  EXPECT_EQ(make(HostOp::Pow, {n, c(2)}), pool.mul(n, n));
  EXPECT_EQ(pool.product({}), c(1));
  const HostId factor = make(HostOp::IsNotOne, {n});
  EXPECT_EQ(pool.mul(factor, factor), factor);
  EXPECT_EQ(text(pool.product(std::vector{n, m, c(2)})), "a.size(0)*a.size(1)*2");
}

TEST_F(Host, DoesNotExpandALargeProductOfSums) {
  HostId sum = c(1);
  for (uint32_t d = 0; d < 12; ++d) sum = pool.add(sum, pool.size(5, d));
  const HostId square = pool.mul(sum, sum);
  EXPECT_EQ(pool[square].op, HostOp::Mul);
  EXPECT_EQ(pool.mul(sum, sum), square);
}

TEST_F(Host, ExtractsExactQuotients) {
  EXPECT_EQ(make(HostOp::FloorDiv, {n, c(1)}), n);
  EXPECT_EQ(make(HostOp::FloorDiv, {pool.mul(n, k), k}), n);
  EXPECT_EQ(make(HostOp::FloorDiv, {pool.add(pool.mul(n, c(4)), c(8)), c(4)}), pool.add(n, c(2)));
  EXPECT_EQ(make(HostOp::FloorDiv, {pool.add(pool.mul(n, c(4)), c(3)), c(4)}), n);
  EXPECT_EQ(make(HostOp::FloorDiv, {pool.sub(n, c(1)), c(2)}),
            pool.sub(make(HostOp::FloorDiv, {pool.add(n, c(1)), c(2)}), c(1)));
  EXPECT_EQ(make(HostOp::FloorDiv, {make(HostOp::FloorDiv, {n, c(2)}), c(3)}), make(HostOp::FloorDiv, {n, c(6)}));
  EXPECT_EQ(make(HostOp::Mod, {pool.add(pool.mul(n, c(4)), c(7)), c(4)}), c(3));
  EXPECT_EQ(make(HostOp::Mod, {pool.mul(n, k), k}), c(0));
  EXPECT_EQ(text(make(HostOp::FloorDiv, {n, k})), "a.size(0) // b.size(0)");
}

TEST_F(Host, MinAndMaxDropDominatedOperands) {
  const HostId zero = c(0);
  const auto max = [&](HostId a, HostId b) { return make(HostOp::Max, {a, b}); };
  const auto min = [&](HostId a, HostId b) { return make(HostOp::Min, {a, b}); };
  EXPECT_EQ(max(n, zero), n);
  EXPECT_EQ(max(n, pool.sub(n, c(2))), n);
  EXPECT_EQ(min(n, pool.add(n, m)), n);
  EXPECT_EQ(max(min(n, m), zero), min(m, n));
  EXPECT_EQ(min(c(3), min(c(5), n)), min(n, c(3)));
  EXPECT_EQ(max(pool.sub(max(pool.sub(n, c(1)), zero), c(1)), zero), max(pool.sub(n, c(2)), zero));
  EXPECT_EQ(max(n, min(n, c(7))), n);
  EXPECT_NE(max(i, zero), i);
  EXPECT_EQ(text(max(pool.sub(n, c(1)), zero)), "max(0, a.size(0) - 1)");
}

TEST_F(Host, KeepsTheLengthsOfNestedSlicesSmall) {
  // v = v[:-1] + v[1:], 16 times: at each step the two lengths are the same expression.
  HostId length = n;
  for (int depth = 1; depth <= 16; ++depth) {
    const HostId end = make(HostOp::Max, {make(HostOp::Min, {pool.sub(length, c(1)), length}), c(0)});
    const HostId left = make(HostOp::Max, {pool.sub(end, c(0)), c(0)});
    const HostId right = make(HostOp::Max, {pool.sub(length, c(1)), c(0)});
    ASSERT_EQ(left, right);
    EXPECT_EQ(left, make(HostOp::Max, {pool.sub(n, c(depth)), c(0)}));
    length = left;
  }
  EXPECT_LT(pool.count(), 120u);
}

TEST_F(Host, FoldsComparisonsWithAKnownDifference) {
  EXPECT_EQ(make(HostOp::Lt, {n, pool.add(n, c(1))}), pool.boolean(true));
  EXPECT_EQ(make(HostOp::Ge, {n, c(0)}), pool.boolean(true));
  EXPECT_EQ(make(HostOp::Eq, {n, n}), pool.boolean(true));
  EXPECT_EQ(make(HostOp::Ne, {pool.add(n, m), c(-1)}), pool.boolean(true));
  EXPECT_FALSE(pool.is_constant(make(HostOp::Eq, {x, x})));  // NaN
  EXPECT_EQ(text(make(HostOp::Le, {pool.add(n, c(1)), m})), "a.size(0) + 1 <= a.size(1)");
}

TEST_F(Host, UsesThatSizesAreNotOne) {
  const HostId before = make(HostOp::IsNotOne, {n});
  EXPECT_FALSE(pool.is_constant(before));
  EXPECT_EQ(make(HostOp::Broadcast, {n, c(1)}), n);
  EXPECT_EQ(make(HostOp::Broadcast, {n, c(4)}), c(4));
  const HostId both = make(HostOp::Broadcast, {n, m});
  EXPECT_EQ(make(HostOp::Broadcast, {both, n}), both);
  EXPECT_EQ(text(both), "broadcast(a.size(0), a.size(1))");

  pool.assume_sizes_not_one();
  EXPECT_EQ(make(HostOp::IsNotOne, {n}), c(1));
  EXPECT_EQ(make(HostOp::Broadcast, {n, pool.sub(m, c(3))}), n);
  EXPECT_EQ(make(HostOp::Eq, {n, c(1)}), pool.boolean(false));
  EXPECT_TRUE(pool.known_not_one(pool.mul(n, m)));
  EXPECT_TRUE(pool.known_not_one(pool.mul(i, c(2))));
  EXPECT_FALSE(pool.known_not_one(pool.sub(n, c(1))));
  EXPECT_FALSE(pool.known_not_one(i));
}

TEST_F(Host, ComputesLowerBounds) {
  const HostId low = c(-3), two = c(2);
  EXPECT_EQ(pool.lower_bound(n), 0);
  EXPECT_EQ(pool.lower_bound(i), HostPool::kUnbounded);
  EXPECT_EQ(pool.lower_bound(make(HostOp::Min, {n, make(HostOp::Min, {m, i})})),
            HostPool::kUnbounded);  // Min of three operands
  EXPECT_EQ(pool.lower_bound(make(HostOp::Max, {i, low})), -3);
  EXPECT_EQ(pool.lower_bound(pool.sub(c(5), n)), HostPool::kUnbounded);
  EXPECT_EQ(pool.lower_bound(make(HostOp::FloorDiv, {pool.sub(n, c(5)), two})), -3);
  EXPECT_EQ(pool.lower_bound(make(HostOp::Mod, {i, c(7)})), 0);

  const HostId before = pool.add(pool.mul(n, two), c(1));
  pool.assume_at_least(n, 17);
  EXPECT_EQ(pool.lower_bound(before), 35);
  EXPECT_EQ(pool.lower_bound(pool.mul(n, pool.add(m, c(4)))), 68);
  EXPECT_TRUE(pool.known_not_one(make(HostOp::FloorDiv, {n, two})));
  EXPECT_EQ(make(HostOp::Max, {pool.sub(n, c(4)), c(0)}), pool.sub(n, c(4)));
  EXPECT_EQ(make(HostOp::Lt, {n, c(17)}), pool.boolean(false));
  EXPECT_EQ(pool.lower_bound(pool.mul(pool.mul(n, c(INT64_MAX / 8)), n)), INT64_MAX);  // saturates at 64 bits
}

TEST_F(Host, TreatsUnifiedSizesAsTheSame) {
  pool.unify(n, k);
  EXPECT_TRUE(pool.same(n, k));
  EXPECT_EQ(pool.add(k, c(1)), pool.add(n, c(1)));
  EXPECT_EQ(pool.sub(k, n), c(0));
  pool.unify(k, c(5));
  EXPECT_EQ(pool.resolve(n), c(5));
  EXPECT_EQ(pool.mul(k, c(2)), c(10));
  EXPECT_TRUE(pool.is_int(k, 5));
}

TEST_F(Host, UnifiesASizeWithASumOfItself) {
  pool.unify(m, pool.add(m, n));
  EXPECT_EQ(pool.resolve(pool.add(m, c(0))), m);
  EXPECT_EQ(text(pool.add(m, c(2))), "a.size(1) + 2");
}

TEST_F(Host, FoldsSelectsAndConversions) {
  const HostId negative = make(HostOp::Lt, {i, c(0)});
  EXPECT_EQ(make(HostOp::Select, {pool.boolean(true), n, m}), n);
  EXPECT_EQ(make(HostOp::Select, {negative, n, n}), n);
  EXPECT_EQ(text(make(HostOp::Select, {negative, pool.add(i, n), i})), "a.size(0) + i if i < 0 else i");
  EXPECT_EQ(make(HostOp::Not, {make(HostOp::Not, {negative})}), negative);
  EXPECT_EQ(make(HostOp::Int, {i}), i);
  EXPECT_EQ(make(HostOp::Float, {x}), x);
  EXPECT_EQ(make(HostOp::Floor, {n}), n);
  EXPECT_EQ(pool.kind(pool.add(negative, negative)), HostKind::Int);
  const HostId rounded = make(HostOp::RoundTo, {x}, static_cast<uint32_t>(DType::F16));
  EXPECT_EQ(make(HostOp::RoundTo, {rounded}, static_cast<uint32_t>(DType::F16)), rounded);
  EXPECT_EQ(make(HostOp::RoundTo, {x}, static_cast<uint32_t>(DType::F64)), x);
}

TEST_F(Host, PrintsPythonSyntax) {
  const HostId one = c(1), half = pool.real(0.5);
  const HostId rest = make(HostOp::Sub, {one, x});
  EXPECT_EQ(text(make(HostOp::Pow, {rest, half})), "(1 - x) ** 0.5");
  EXPECT_EQ(text(make(HostOp::Sub, {x, rest})), "x - (1 - x)");
  EXPECT_EQ(text(make(HostOp::TrueDiv, {one, make(HostOp::Mul, {x, x})})), "1 / (x*x)");
  EXPECT_EQ(text(make(HostOp::Neg, {make(HostOp::Pow, {x, c(2)})})), "-x ** 2");
  EXPECT_EQ(text(make(HostOp::Pow, {make(HostOp::Neg, {x}), c(2)})), "(-x) ** 2");
  EXPECT_EQ(text(make(HostOp::Pow, {make(HostOp::Pow, {x, x}), x})), "(x ** x) ** x");
  EXPECT_EQ(text(make(HostOp::Exp, {make(HostOp::Neg, {x})})), "exp(-x)");
  EXPECT_EQ(text(make(HostOp::Mul, {pool.real(-2.0), x})), "-2.0*x");
  EXPECT_EQ(text(make(HostOp::ReciprocalIn, {x}, static_cast<uint32_t>(DType::F32))), "float32(1 / x)");
  EXPECT_EQ(text(make(HostOp::Not, {make(HostOp::Gt, {x, one})})), "not x > 1");
}

TEST_F(Host, BoundsTheTextOfASharedExpression) {
  HostId y = x;
  for (int depth = 0; depth < 100; ++depth) y = make(HostOp::Mul, {y, y});
  EXPECT_LT(text(y).size(), 1000u);
}

TEST_F(Host, ListsSymbolsOnceInOrder) {
  const HostId sum = make(HostOp::Mul, {make(HostOp::Add, {x, n}), make(HostOp::Add, {x, m})});
  EXPECT_EQ(pool.symbols(sum), (std::vector{n, m, x}));
  EXPECT_TRUE(pool[sum].per_call);
  EXPECT_FALSE(pool[pool.add(n, m)].per_call);
}

TEST_F(Host, DetectsKindsThatDependOnTheValue) {
  const auto depends = [&](HostOp op, HostId a, HostId b) { return pool.kind_depends_on_value(op, std::vector{a, b}); };
  EXPECT_TRUE(depends(HostOp::Pow, n, i));
  EXPECT_FALSE(depends(HostOp::Pow, n, m));  // sizes are not negative
  EXPECT_FALSE(depends(HostOp::Pow, x, i));
  EXPECT_FALSE(depends(HostOp::Pow, i, c(-1)));
  EXPECT_TRUE(depends(HostOp::Max, x, c(0)));
  EXPECT_FALSE(depends(HostOp::Max, i, c(0)));
  EXPECT_EQ(pool.kind(make(HostOp::Pow, {i, c(-1)})), HostKind::Float);
  EXPECT_EQ(pool.kind(make(HostOp::Pow, {i, c(9)})), HostKind::Int);
  EXPECT_THROW(make(HostOp::Pow, {n, i}), Error);
}

// Values, as CPython 3.11 computes them.

HostValue of(int64_t value) { return HostValue::of(value); }
HostValue of(double value) { return HostValue::of(value); }
HostValue run(HostOp op, std::vector<HostValue> args) { return ir::apply(op, args); }

TEST(HostValues, MatchPython) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(HostOp::FloorDiv, {of(int64_t{-7}), of(int64_t{2})}), of(int64_t{-4}));
  EXPECT_EQ(run(HostOp::Mod, {of(int64_t{-7}), of(int64_t{2})}), of(int64_t{1}));
  EXPECT_EQ(run(HostOp::Mod, {of(int64_t{7}), of(int64_t{-2})}), of(int64_t{-1}));
  EXPECT_EQ(run(HostOp::FloorDiv, {of(-7.5), of(2.0)}), of(-4.0));
  EXPECT_EQ(run(HostOp::Mod, {of(-7.5), of(2.0)}), of(0.5));
  EXPECT_EQ(run(HostOp::Mod, {of(1e-20), of(-1.0)}), of(-1.0));
  EXPECT_EQ(run(HostOp::Mod, {of(-4.0), of(2.0)}), of(0.0));
  EXPECT_EQ(run(HostOp::Mod, {of(4.0), of(-2.0)}), of(-0.0));
  EXPECT_EQ(run(HostOp::FloorDiv, {of(0.0), of(-2.0)}), of(-0.0));
  EXPECT_EQ(run(HostOp::FloorDiv, {of(1.0), of(0.1)}), of(9.0));
  EXPECT_EQ(run(HostOp::FloorDiv, {of(5.0), of(inf)}), of(0.0));
  EXPECT_EQ(run(HostOp::FloorDiv, {of(-5.0), of(inf)}), of(-1.0));
  EXPECT_EQ(run(HostOp::TrueDiv, {of(int64_t{0}), of(int64_t{-5})}), of(-0.0));
  EXPECT_EQ(run(HostOp::TrueDiv, {of(int64_t{1}), of(int64_t{3})}), of(1.0 / 3.0));
  // 9007199254740993 is not representable as a double.
  EXPECT_EQ(run(HostOp::TrueDiv, {of(int64_t{9007199254740993}), of(int64_t{3})}), of(3002399751580331.0));
  EXPECT_EQ(run(HostOp::TrueDiv, {of(INT64_MIN), of(int64_t{3})}), of(-3.0744573456182584e+18));
  EXPECT_EQ(run(HostOp::Pow, {of(int64_t{-2}), of(int64_t{63})}), of(INT64_MIN));
  EXPECT_EQ(run(HostOp::Pow, {of(int64_t{2}), of(int64_t{-1})}), of(0.5));
  EXPECT_EQ(run(HostOp::Pow, {of(-8.0), of(3.0)}), of(-512.0));
  EXPECT_EQ(run(HostOp::Pow, {of(0.0), of(-inf)}), of(inf));
  EXPECT_EQ(run(HostOp::Round, {of(2.5)}), of(int64_t{2}));
  EXPECT_EQ(run(HostOp::Round, {of(-3.5)}), of(int64_t{-4}));
  EXPECT_EQ(run(HostOp::Floor, {of(-0.5)}), of(int64_t{-1}));
  EXPECT_EQ(run(HostOp::Int, {of(-1.9)}), of(int64_t{-1}));
  EXPECT_EQ(run(HostOp::Add, {HostValue::of(true), HostValue::of(true)}), of(int64_t{2}));
  EXPECT_EQ(run(HostOp::Max, {of(int64_t{1}), of(1.0)}), of(int64_t{1}));
  EXPECT_EQ(run(HostOp::Min, {of(std::nan("")), of(1.0)}).kind, HostKind::Float);
  EXPECT_TRUE(std::isnan(run(HostOp::Min, {of(std::nan("")), of(1.0)}).real));
  EXPECT_EQ(run(HostOp::Eq, {of(int64_t{9007199254740993}), of(9007199254740992.0)}), HostValue::of(false));
  EXPECT_EQ(run(HostOp::Gt, {of(inf), of(INT64_MAX)}), HostValue::of(true));
  EXPECT_EQ(run(HostOp::Lt, {of(int64_t{2}), of(2.5)}), HostValue::of(true));
  EXPECT_EQ(run(HostOp::Sqrt, {of(int64_t{9})}), of(3.0));
}

TEST(HostValues, RoundReciprocalsToTheType) {
  const std::vector<HostValue> three{of(3.0)};
  EXPECT_EQ(apply(HostOp::ReciprocalIn, three, static_cast<uint32_t>(DType::F32)),
            of(static_cast<double>(1.0f / 3.0f)));
  EXPECT_EQ(apply(HostOp::ReciprocalIn, three, static_cast<uint32_t>(DType::F64)), of(1.0 / 3.0));
  EXPECT_EQ(apply(HostOp::ReciprocalIn, three, static_cast<uint32_t>(DType::F16)), of(0.333251953125));
}

std::string error_message(HostOp op, std::vector<HostValue> args) {
  try {
    run(op, std::move(args));
  } catch (const std::domain_error& error) {
    return error.what();
  }
  return "none";
}

TEST(HostValues, RaisePythonsErrors) {
  const double inf = std::numeric_limits<double>::infinity();
  const HostValue zero = of(int64_t{0}), one = of(int64_t{1});
  EXPECT_EQ(error_message(HostOp::FloorDiv, {one, zero}), "integer division or modulo by zero");
  EXPECT_EQ(error_message(HostOp::Mod, {one, zero}), "integer modulo by zero");
  EXPECT_EQ(error_message(HostOp::TrueDiv, {one, zero}), "division by zero");
  EXPECT_EQ(error_message(HostOp::TrueDiv, {of(1.0), zero}), "float division by zero");
  EXPECT_EQ(error_message(HostOp::FloorDiv, {of(1.0), zero}), "float floor division by zero");
  EXPECT_EQ(error_message(HostOp::Mod, {of(1.0), zero}), "float modulo");
  EXPECT_EQ(error_message(HostOp::Pow, {zero, of(int64_t{-1})}), "0.0 cannot be raised to a negative power");
  EXPECT_EQ(error_message(HostOp::Pow, {of(10.0), of(400.0)}), "Numerical result out of range");
  EXPECT_EQ(error_message(HostOp::Sqrt, {of(-1.0)}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Log, {zero}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Atanh, {one}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Sin, {of(inf)}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Gamma, {of(-1.0)}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Lgamma, {zero}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Fmod, {one, zero}), "math domain error");
  EXPECT_EQ(error_message(HostOp::Exp, {of(1000.0)}), "math range error");
  EXPECT_EQ(error_message(HostOp::Gamma, {of(200.0)}), "math range error");
  EXPECT_EQ(error_message(HostOp::Int, {of(inf)}), "cannot convert float infinity to integer");
  EXPECT_EQ(error_message(HostOp::Round, {of(std::nan(""))}), "cannot convert float NaN to integer");
  EXPECT_EQ(error_message(HostOp::Exp, {of(inf)}), "none");
}

/// In Python, these operations give a complex number or a larger integer.
TEST(HostValues, RejectComplexAndTooLargeResults) {
  const HostValue one = of(int64_t{1});
  EXPECT_EQ(error_message(HostOp::Pow, {of(-8.0), of(1.0 / 3)}),
            "a negative number raised to a fractional power is complex");
  const std::string too_large = "the integer does not fit in 64 bits";
  EXPECT_EQ(error_message(HostOp::Floor, {of(1e30)}), too_large);
  EXPECT_EQ(error_message(HostOp::Add, {of(INT64_MAX), one}), too_large);
  EXPECT_EQ(error_message(HostOp::Mul, {of(INT64_MAX), of(int64_t{2})}), too_large);
  EXPECT_EQ(error_message(HostOp::Neg, {of(INT64_MIN)}), too_large);
  EXPECT_EQ(error_message(HostOp::FloorDiv, {of(INT64_MIN), of(int64_t{-1})}), too_large);
  EXPECT_EQ(error_message(HostOp::Pow, {of(int64_t{10}), of(int64_t{19})}), too_large);
}

TEST_F(Host, ChecksForOverflowInFoldingAndEvaluation) {
  EXPECT_THROW(pool.mul(pool.mul(n, c(INT64_MAX)), c(2)), std::domain_error);
  const HostId large = pool.add(pool.mul(n, c(INT64_MAX)), c(10));
  std::vector<HostValue> slots(pool.count());
  const auto with = [&](int64_t size) {
    evaluate(pool,
             {.size = [=](uint32_t, uint32_t) { return size; },
              .scalar = [&](uint32_t p) { return p == 2 ? of(0.5) : of(int64_t{3}); }},
             slots);
    return slots[large.index];
  };
  EXPECT_THROW(with(1), std::domain_error);
  EXPECT_EQ(with(0), of(int64_t{10}));
}

TEST_F(Host, EvaluatesOnlyExpressionsOfScalarsPerCall) {
  const HostId size = pool.add(n, c(1)), scaled = make(HostOp::Mul, {x, n});
  std::vector<HostValue> slots(pool.count());
  int size_queries = 0;
  double scalar = 0.5;
  const HostInputs inputs{.size = [&](uint32_t, uint32_t) { return ++size_queries, int64_t{6}; },
                          .scalar = [&](uint32_t p) { return p == 2 ? of(scalar) : of(int64_t{0}); }};
  evaluate(pool, inputs, slots);
  EXPECT_EQ(size_queries, 3);
  scalar = 2.0;
  evaluate(pool, inputs, slots, true);
  EXPECT_EQ(size_queries, 3);
  EXPECT_EQ(slots[scaled.index], of(12.0));
  EXPECT_EQ(slots[size.index], of(int64_t{7}));
}

}  // namespace
}  // namespace ingot::ir
