#include <algorithm>
#include <random>

#include "tests/case_count.h"
#include "tests/frontend/tensor_testing.h"

// Random programs of views, pointwise ops, stacks, cats and gathers. Their graphs must give the same values as arrays
// whose elements each operation computes directly, by index.

namespace ingot::frontend {
namespace {

using ingot::Slice;
using ingot::Value;
using Sizes = std::vector<int64_t>;

/// A value and its expected elements.
struct Pair {
  Value value;
  Array array;
};

class Program {
 public:
  Program(unsigned seed, std::vector<Pair> inputs, Value index, Array index_array)
      : random_(seed), pairs_(std::move(inputs)), index_(std::move(index)), index_array_(std::move(index_array)) {}

  std::vector<Pair> run(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (auto next = step(pick())) pairs_.push_back(std::move(*next));
    }
    return {pairs_.back(), pick()};
  }

 private:
  static constexpr int64_t kMaxCount = 1500;

  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_); }
  const Pair& pick() {
    // Prefer later values, so that many views are views of views.
    const auto count = static_cast<int64_t>(pairs_.size());
    return pairs_[static_cast<size_t>(std::max(below(count), below(count)))];
  }

  std::optional<Pair> step(const Pair& x) {
    const auto rank = static_cast<int64_t>(x.array.shape.size());
    switch (below(14)) {
      case 0:
        return rank ? std::optional(selected(x, below(rank))) : std::nullopt;
      case 1:
      case 2:
        return rank ? sliced(x, below(rank)) : std::nullopt;
      case 3:
        return permuted(x);
      case 4:
        return rank < 5 ? std::optional(unsqueezed(x, below(rank + 1))) : std::nullopt;
      case 5:
        return rank ? std::optional(flipped(x, below(rank))) : std::nullopt;
      case 6:
        return expanded(x);
      case 7:
      case 8:
        return reshaped(x);
      case 9:
        return rank && rank < 5 ? stacked(x, below(rank + 1)) : std::nullopt;
      case 10:
        return rank ? concatenated(x, below(rank)) : std::nullopt;
      case 11:
        return rank ? gathered(x, below(rank)) : std::nullopt;
      case 12:
        return masked(x);
      default:
        return difference(x, pick());
    }
  }

  Pair selected(const Pair& x, int64_t dim) {
    const int64_t size = x.array.shape[static_cast<size_t>(dim)];
    if (size == 0) return x;
    const int64_t at = below(size);
    Sizes shape = x.array.shape;
    shape.erase(shape.begin() + dim);
    const bool is_from_end = below(2) == 1;
    return {x.value.select(dim, is_from_end ? at - size : at), Array::of(shape, [&](Sizes index) {
              index.insert(index.begin() + dim, at);
              return x.array[index];
            })};
  }

  std::optional<Pair> sliced(const Pair& x, int64_t dim) {
    const int64_t size = x.array.shape[static_cast<size_t>(dim)];
    if (size < 2) return std::nullopt;
    const int64_t start = below(size), stop = start + below(size + 2 - start), step = 1 + below(3);
    const int64_t end = std::min(stop, size);
    Sizes shape = x.array.shape;
    shape[static_cast<size_t>(dim)] = (end - start + step - 1) / step;
    std::vector<Value> items(static_cast<size_t>(dim), Slice());
    const bool is_from_end = below(2) == 1;
    items.push_back(Slice(is_from_end ? start - size : start, stop, step));
    return Pair{x.value[Value(items)], Array::of(shape, [&](Sizes index) {
                  index[static_cast<size_t>(dim)] = start + step * index[static_cast<size_t>(dim)];
                  return x.array[index];
                })};
  }

  Pair permuted(const Pair& x) {
    std::vector<size_t> order(x.array.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Sizes shape;
    std::vector<Value> dims;
    for (const size_t dim : order) {
      shape.push_back(x.array.shape[dim]);
      dims.emplace_back(dim);
    }
    return {x.value.method("permute", dims), Array::of(shape, [&](const Sizes& index) {
              Sizes old(index.size());
              for (size_t d = 0; d < order.size(); ++d) old[order[d]] = index[d];
              return x.array[old];
            })};
  }

  Pair unsqueezed(const Pair& x, int64_t dim) {
    Sizes shape = x.array.shape;
    shape.insert(shape.begin() + dim, 1);
    Array array = x.array;
    array.shape = shape;
    return {x.value.method("unsqueeze", dim), array};
  }

  Pair flipped(const Pair& x, int64_t dim) {
    return {x.value.method("flip", dim), Array::of(x.array.shape, [&](Sizes index) {
              int64_t& at = index[static_cast<size_t>(dim)];
              at = x.array.shape[static_cast<size_t>(dim)] - 1 - at;
              return x.array[index];
            })};
  }

  static Array broadcast(const Array& array, const Sizes& shape) {
    const size_t added = shape.size() - array.shape.size();
    return Array::of(shape, [&](const Sizes& index) {
      Sizes old(index.begin() + static_cast<ptrdiff_t>(added), index.end());
      for (size_t d = 0; d < old.size(); ++d) {
        if (array.shape[d] == 1) old[d] = 0;
      }
      return array[old];
    });
  }

  std::optional<Pair> expanded(const Pair& x) {
    Sizes shape = x.array.shape;
    for (int64_t& size : shape) {
      if (size == 1 && below(2)) size = 1 + below(4);
    }
    if (shape.size() < 4 && below(2)) shape.insert(shape.begin(), 1 + below(3));
    if (Array::count(shape) > kMaxCount) return std::nullopt;
    return Pair{x.value.expand({shape.begin(), shape.end()}), broadcast(x.array, shape)};
  }

  /// Merges adjacent dims, splits one, or requests an unrelated shape.
  std::optional<Pair> reshaped(const Pair& x) {
    Array array = x.array;
    Sizes& shape = array.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t kind = below(3);
    if (kind == 0 && rank >= 2) {
      const auto at = static_cast<size_t>(below(rank - 1));
      const auto last = at + 1 + static_cast<size_t>(below(rank - 1 - static_cast<int64_t>(at)));
      const auto begin = shape.begin() + static_cast<ptrdiff_t>(at),
                 end = shape.begin() + static_cast<ptrdiff_t>(last) + 1;
      *begin = std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
      shape.erase(begin + 1, end);
      return Pair{x.value.method("flatten", at, last), array};
    }
    if (kind == 1 && rank >= 1 && rank < 5) {
      const auto at = static_cast<size_t>(below(rank));
      const int64_t size = shape[at];
      for (const int64_t inner : {2, 3, 6, 4, 1}) {
        if (size % inner != 0 || size == 0) continue;
        shape[at] = size / inner;
        shape.insert(shape.begin() + static_cast<ptrdiff_t>(at) + 1, inner);
        return Pair{x.value.method("unflatten", at, std::vector<Value>{-1, inner}), array};
      }
    }
    const int64_t count = Array::count(shape);
    for (const int64_t rows : {3, 2, 4, 5}) {
      if (count == 0 || count % rows != 0) continue;
      shape = {rows, count / rows};
      return Pair{x.value.method("reshape", rows, -1), array};
    }
    return std::nullopt;
  }

  std::optional<Pair> stacked(const Pair& x, int64_t dim) {
    Sizes shape = x.array.shape;
    shape.insert(shape.begin() + dim, 2);
    if (Array::count(shape) > kMaxCount) return std::nullopt;
    return Pair{ingot::stack({x.value, -x.value}, dim), Array::of(shape, [&](Sizes index) {
                  const bool is_second = index[static_cast<size_t>(dim)] == 1;
                  index.erase(index.begin() + dim);
                  return is_second ? -x.array[index] : x.array[index];
                })};
  }

  std::optional<Pair> concatenated(const Pair& x, int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    Sizes shape = x.array.shape;
    const int64_t size = shape[at];
    if (size < 2) return std::nullopt;
    shape[at] = 2 * size - 1;
    if (Array::count(shape) > kMaxCount) return std::nullopt;
    const Value tail = x.value.slice(dim, 1);
    return Pair{ingot::cat({tail * 2, x.value}, dim), Array::of(shape, [&](Sizes index) {
                  const bool is_first = index[at] < size - 1;
                  index[at] = is_first ? index[at] + 1 : index[at] - (size - 1);
                  return is_first ? 2 * x.array[index] : x.array[index];
                })};
  }

  std::optional<Pair> gathered(const Pair& x, int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    const int64_t size = x.array.shape[at];
    Sizes shape = x.array.shape;
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, index_array_.shape.begin(), index_array_.shape.end());
    if (size == 0 || Array::count(shape) > kMaxCount || shape.size() > 5) return std::nullopt;
    std::vector<Value> items(at, Slice());
    items.push_back(ingot::remainder(index_, size));
    return Pair{x.value[Value(items)], Array::of(shape, [&](const Sizes& index) {
                  const auto begin = index.begin() + dim;
                  const auto end = begin + static_cast<ptrdiff_t>(index_array_.shape.size());
                  Sizes old(index.begin(), begin);
                  old.push_back(((index_array_[Sizes(begin, end)] % size) + size) % size);
                  old.insert(old.end(), end, index.end());
                  return x.array[old];
                })};
  }

  /// where(position > 1, x, position * 3) with the positions along the last dim.
  std::optional<Pair> masked(const Pair& x) {
    if (x.array.shape.empty()) return std::nullopt;
    const Value position = ingot::arange(x.value.size(-1));
    return Pair{ingot::where(position > 1, x.value, position * 3), Array::of(x.array.shape, [&](const Sizes& index) {
                  return index.back() > 1 ? x.array[index] : 3 * index.back();
                })};
  }

  /// x - y * 5.
  std::optional<Pair> difference(const Pair& x, const Pair& y) {
    const size_t rank = std::max(x.array.shape.size(), y.array.shape.size());
    Sizes shape(rank, 1);
    for (const Pair* operand : {&x, &y}) {
      for (size_t d = 0; d < operand->array.shape.size(); ++d) {
        int64_t& size = shape[rank - operand->array.shape.size() + d];
        const int64_t operand_size = operand->array.shape[d];
        if (operand_size == 1 || operand_size == size) continue;
        if (size != 1) return std::nullopt;
        size = operand_size;
      }
    }
    if (Array::count(shape) > kMaxCount) return std::nullopt;
    const Array a = broadcast(x.array, shape), b = broadcast(y.array, shape);
    return Pair{x.value - y.value * 5, Array::of(shape, [&](const Sizes& index) { return a[index] - 5 * b[index]; })};
  }

  std::mt19937 random_;
  std::vector<Pair> pairs_;
  Value index_;
  Array index_array_;
};

void check(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random); };
  const auto array = [&](Sizes shape) { return Array::of(std::move(shape), [&](const Sizes&) { return below(100); }); };
  const Sizes sizes{1, 2, 3, 4, 6, 17, 18};
  const auto size = [&] { return sizes[static_cast<size_t>(below(7))]; };

  const std::vector<Array> arguments{array({size(), size()}), array({size()}), array({size(), 2, size()}),
                                     array(below(2) ? Sizes{3} : Sizes{2, 2})};
  std::vector<Pair> expected;
  const auto definition = ingot::define("op", [&](Value a, Value b, Value c, Value i) {
    Program program(seed, {{a, arguments[0]}, {b, arguments[1]}, {c, arguments[2]}}, i, arguments[3]);
    expected = program.run(1 + static_cast<int>(seed % 12));
    return std::pair(expected[0].value, expected[1].value);
  });

  LoweringCase call{};
  for (const Array& argument : arguments) {
    ArgumentSpec spec{.dtype = ir::DType::I64, .rank = static_cast<uint8_t>(argument.shape.size())};
    for (size_t d = 0; d < argument.shape.size(); ++d) spec.ones |= static_cast<uint64_t>(argument.shape[d] == 1) << d;
    call.signature.arguments.push_back(spec);
    call.sizes.push_back(argument.shape);
    call.scalars.push_back({});
  }
  const ir::Graph graph = call.lower(*definition);
  for (const ir::Graph& lowered : {graph, ir::simplify(ir::inline_calls(graph))}) {
    GraphRun run(lowered, arguments);
    EXPECT_TRUE(run.conditions_hold()) << ir::print(lowered);
    for (size_t r = 0; r < 2; ++r) {
      const Array result = run.result(r);
      EXPECT_EQ(result.shape, expected[r].array.shape) << ir::print(lowered);
      EXPECT_EQ(result.data, expected[r].array.data) << ir::print(lowered);
    }
  }
}

TEST(TensorFuzz, MatchesDirectIndexing) {
  for (unsigned seed = 0; seed < case_count(1500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(seed);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace ingot::frontend
