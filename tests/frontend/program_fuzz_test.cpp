#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/case_count.h"
#include "tests/frontend/tensor_testing.h"

// Random programs of statements, loops, conditions, helper functions, lists, dicts and views. Each program is written
// as source text and, at the same time, executed on arrays. The graph of the source must give the same values. If some
// words of the source are changed, the source must lower, or fail with an error that has a location, within the budget
// of lowering.

namespace ingot::frontend {
namespace {

constexpr int64_t kRows = 4, kColumns = 3, kModulus = 1009;

/// The variables of a running program. All tensors have the same shape, so that every expression is valid everywhere.
struct Environment {
  std::map<std::string, Array> tensors;
  std::map<std::string, int64_t> numbers;
  std::vector<Array> xs;
  std::map<std::string, Array> d;
};

Array make_array(const std::function<int64_t(int64_t row, int64_t column)>& value) {
  return Array::of({kRows, kColumns}, [&](const std::vector<int64_t>& index) { return value(index[0], index[1]); });
}

// Integer tensors wrap on overflow.
int64_t plus(int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y)); }
int64_t minus(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
int64_t times(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
int64_t modulo(int64_t value) { return ((value % kModulus) + kModulus) % kModulus; }

/// Source text and its effect. Operands are evaluated from left to right, as in Python.
struct Expression {
  std::string text;
  std::function<Array(Environment&)> run;
};
struct Number {
  std::string text;
  std::function<int64_t(const Environment&)> run;
};
struct Statement {
  std::vector<std::string> lines;
  std::function<void(Environment&)> run;
};

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  /// Writes the statements of an op f(x, y, k: int), and returns its text.
  std::string write(std::vector<Statement>& program) {
    program.push_back({{"xs, d = [x, y], {'p': x, 'q': y}", "a, b = y, x"}, [](Environment& names) {
                         const Array x = names.tensors.at("x"), y = names.tensors.at("y");
                         names.xs = {x, y};
                         names.d = {{"p", x}, {"q", y}};
                         names.tensors.insert_or_assign("a", y);
                         names.tensors.insert_or_assign("b", x);
                       }});
    for (int i = 0; i < 7; ++i) program.push_back(statement(2));
    std::string text =
        "def g(u, v=1, *, w=2):\n    return (u - v * w) % 1009\n"
        "def h(u, **others):\n    return u + sum(others.values())\n"
        "def rolled(u):\n    return cat([u[1:], u[:1]])\n"
        "def mirrored(u):\n    return stack([part.flip(0) for part in u])\n"
        "def chosen(u, v):\n    return where(u > 5, u, v)\n"
        "def f(x, y, k: int):\n";
    for (const Statement& statement : program) {
      for (const std::string& line : statement.lines) text += "    " + line + "\n";
    }
    return text + "    return a, b, sum(xs) % 1009, d['p'] - d['q']\n";
  }

 private:
  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_); }
  std::string pick(const std::vector<std::string>& candidates) {
    return candidates[static_cast<size_t>(below(static_cast<int64_t>(candidates.size())))];
  }

  Number number() {
    const int64_t constant = below(7) - 3;
    switch (below(4)) {
      case 0:
        return {"k", [](const Environment& names) { return names.numbers.at("k"); }};
      case 1: {
        if (loop_variables_.empty()) break;
        const std::string name = pick(loop_variables_);
        return {name, [name](const Environment& names) { return names.numbers.at(name); }};
      }
      case 2: {
        const Number inner = number();
        return {"(" + inner.text + " * 2 - 1)", [inner](const Environment& names) { return 2 * inner.run(names) - 1; }};
      }
      default:
        break;
    }
    return {std::to_string(constant), [constant](const Environment&) { return constant; }};
  }

  Expression leaf() {
    const int64_t row = below(2);
    switch (below(6)) {
      case 0:
        return {"xs[" + std::to_string(-row) + "]",
                [row](Environment& names) { return row == 0 ? names.xs.front() : names.xs.back(); }};
      case 1: {
        const std::string key = pick({"p", "q"});
        return {"d['" + key + "']", [key](Environment& names) { return names.d.at(key); }};
      }
      default: {
        const std::string name = pick({"x", "y", "a", "b"});
        return {name, [name](Environment& names) { return names.tensors.at(name); }};
      }
    }
  }

  using Binary = std::function<int64_t(int64_t, int64_t)>;
  static Expression elementwise(std::string text, const Expression& a, const Expression& b, const Binary& combine) {
    return {std::move(text), [a, b, combine](Environment& names) {
              const Array left = a.run(names), right = b.run(names);
              return make_array([&](int64_t i, int64_t j) { return combine(left[{i, j}], right[{i, j}]); });
            }};
  }
  using IndexMap = std::function<std::pair<int64_t, int64_t>(int64_t, int64_t)>;
  static Expression permuted(std::string text, const Expression& a, const IndexMap& source) {
    return {std::move(text), [a, source](Environment& names) {
              const Array values = a.run(names);
              return make_array([&](int64_t i, int64_t j) {
                const auto [row, column] = source(i, j);
                return values[{row, column}];
              });
            }};
  }

  Expression expression(int depth) {
    if (depth == 0) return leaf();
    const Expression a = expression(depth - 1);
    switch (below(7)) {
      case 0:
      case 1:
        return arithmetic(a, depth);
      case 2:
        return view(a);
      case 3:
        return call(a, depth);
      case 4:
        return container(a, depth);
      case 5: {
        const Number n = number();
        return {"(" + a.text + " + " + n.text + ")", [a, n](Environment& names) {
                  const Array values = a.run(names);
                  return make_array([&](int64_t i, int64_t j) { return plus(values[{i, j}], n.run(names)); });
                }};
      }
      default:
        return named_expression(a);
    }
  }

  Expression arithmetic(const Expression& a, int depth) {
    const Expression b = expression(depth - 1);
    const auto text = [&](const std::string& op) { return "(" + a.text + " " + op + " " + b.text + ")"; };
    switch (below(4)) {
      case 0:
        return elementwise(text("+"), a, b, plus);
      case 1:
        return elementwise(text("-"), a, b, minus);
      case 2:
        return elementwise("(" + text("*") + " % 1009)", a, b,
                           [](int64_t x, int64_t y) { return modulo(times(x, y)); });
      default:
        return elementwise("chosen(" + a.text + ", " + b.text + ")", a, b,
                           [](int64_t x, int64_t y) { return x > 5 ? x : y; });
    }
  }

  Expression view(const Expression& a) {
    switch (below(5)) {
      case 0:
        return permuted(a.text + ".flip(0)", a, [](int64_t i, int64_t j) { return std::pair(kRows - 1 - i, j); });
      case 1:
        return permuted("rolled(" + a.text + ")", a,
                        [](int64_t i, int64_t j) { return std::pair((i + 1) % kRows, j); });
      case 2:
        return permuted("mirrored(" + a.text + ")", a,
                        [](int64_t i, int64_t j) { return std::pair(i, kColumns - 1 - j); });
      case 3: {
        const int64_t row = below(kRows);
        return permuted(a.text + "[" + std::to_string(row - kRows) + "].expand(4, 3)", a,
                        [row](int64_t, int64_t j) { return std::pair(row, j); });
      }
      default:
        return permuted(a.text + ".t().reshape(4, 3)", a, [](int64_t i, int64_t j) {
          const int64_t position = i * kColumns + j;
          return std::pair(position % kRows, position / kRows);
        });
    }
  }

  Expression call(const Expression& a, int depth) {
    const Expression b = expression(depth - 1);
    const Binary g = [](int64_t u, int64_t v) { return modulo(minus(u, times(v, 2))); };
    switch (below(5)) {
      case 0:
        return elementwise("g(" + a.text + ", " + b.text + ")", a, b, g);
      case 1:
        return elementwise("g(**{'u': " + a.text + ", 'v': " + b.text + "})", a, b, g);
      case 2:
        return elementwise("g(*[" + a.text + "], w=1, v=" + b.text + ")", a, b,
                           [](int64_t u, int64_t v) { return modulo(minus(u, v)); });
      case 3:
        return elementwise("h(" + a.text + ", m=" + b.text + ", n=1)", a, b,
                           [](int64_t u, int64_t m) { return plus(plus(u, m), 1); });
      default:
        return elementwise("(lambda u, v: u - v)(" + a.text + ", " + b.text + ")", a, b, minus);
    }
  }

  Expression container(const Expression& a, int depth) {
    const Expression b = expression(depth - 1);
    switch (below(4)) {
      case 0:
        return elementwise("[" + a.text + ", " + b.text + "][1]", a, b, [](int64_t, int64_t y) { return y; });
      case 1:
        return elementwise("{'m': " + a.text + ", 'n': " + b.text + "}.get('m')", a, b,
                           [](int64_t x, int64_t) { return x; });
      case 2:
        return elementwise("sum([" + a.text + ", " + b.text + "])", a, b, plus);
      default: {
        const Number n = number();
        return {"(" + a.text + " if " + n.text + " > 0 else " + b.text + ")",
                [a, b, n](Environment& names) { return n.run(names) > 0 ? a.run(names) : b.run(names); }};
      }
    }
  }

  Expression named_expression(const Expression& a) {
    const std::string name = pick({"a", "b"});
    return {"((" + name + " := " + a.text + ") - " + name + " * 2)", [a, name](Environment& names) {
              const Array value = a.run(names);
              names.tensors.insert_or_assign(name, value);
              return make_array([&](int64_t i, int64_t j) { return minus(0, value[{i, j}]); });
            }};
  }

  Statement statement(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
      case 0:
      case 1: {
        const std::string name = pick({"a", "b"});
        const Expression value = expression(2);
        return {{name + " = " + value.text},
                [name, value](Environment& names) { names.tensors.insert_or_assign(name, value.run(names)); }};
      }
      case 2:
        return {{"a, b = b, a"}, [](Environment& names) { std::swap(names.tensors.at("a"), names.tensors.at("b")); }};
      case 3: {
        const std::string key = pick({"p", "q"});
        const Expression value = expression(2);
        const bool updates = below(2) == 0;
        return {{updates ? "d.update({'" + key + "': " + value.text + "})" : "d['" + key + "'] = " + value.text},
                [key, value](Environment& names) {
                  const Array result = value.run(names);
                  names.d.insert_or_assign(key, result);
                }};
      }
      case 4: {
        const Expression value = expression(2);
        return {{"xs = xs[-1:] + [" + value.text + "]"}, [value](Environment& names) {
                  const Array last = names.xs.back();
                  names.xs = {last, value.run(names)};
                }};
      }
      case 5: {
        const Number n = number();
        return {{"xs = [each + " + n.text + " for each in xs if " + n.text + " < 3] or xs"}, [n](Environment& names) {
                  const int64_t addend = n.run(names);
                  if (addend >= 3) return;
                  for (Array& each : names.xs) {
                    for (int64_t& value : each.data) value = plus(value, addend);
                  }
                }};
      }
      case 6:
        return if_statement(depth);
      case 7:
        return loop_over_items(depth);
      default:
        return counting_loop(depth);
    }
  }

  std::vector<Statement> block(int depth) {
    std::vector<Statement> statements;
    for (int64_t i = below(2); i >= 0; --i) statements.push_back(statement(depth));
    return statements;
  }
  static void append(std::vector<std::string>& lines, const std::vector<Statement>& block) {
    for (const Statement& statement : block) {
      for (const std::string& line : statement.lines) lines.push_back("    " + line);
    }
  }
  static void run(const std::vector<Statement>& block, Environment& names) {
    for (const Statement& statement : block) statement.run(names);
  }

  Statement if_statement(int depth) {
    const Number n = number();
    const std::vector<Statement> then = block(depth - 1), otherwise = block(depth - 1);
    Statement result{{"if " + n.text + " % 2 == 0:"}, [n, then, otherwise](Environment& names) {
                       run(n.run(names) % 2 == 0 ? then : otherwise, names);
                     }};
    append(result.lines, then);
    result.lines.emplace_back("else:");
    append(result.lines, otherwise);
    return result;
  }

  Statement loop_over_items(int depth) {
    const std::vector<Statement> body = block(depth - 1);
    Statement result{{"for key, value in {**d}.items():", "    a = a - value"}, [body](Environment& names) {
                       const std::map<std::string, Array> before = names.d;
                       for (const auto& [key, value] : before) {
                         const Array a = names.tensors.at("a");
                         names.tensors.insert_or_assign(
                             "a", make_array([&](int64_t i, int64_t j) { return minus(a[{i, j}], value[{i, j}]); }));
                         run(body, names);
                       }
                     }};
    append(result.lines, body);
    return result;
  }

  Statement counting_loop(int depth) {
    const std::string name = "i" + std::to_string(loop_variables_.size());
    const int64_t count = 1 + below(3);
    const bool counts_up = below(2) == 0;
    loop_variables_.push_back(name);
    const std::vector<Statement> body = block(depth - 1);
    loop_variables_.pop_back();
    Statement result{{}, [name, count, body](Environment& names) {
                       for (int64_t i = 0; i < count; ++i) {
                         names.numbers[name] = i;
                         run(body, names);
                       }
                     }};
    const std::string bound = std::to_string(count);
    if (counts_up) {
      result.lines = {"for " + name + " in range(" + bound + "):"};
    } else {
      result.lines = {name + " = -1", "while (" + name + " := " + name + " + 1) < " + bound + ":"};
    }
    append(result.lines, body);
    return result;
  }

  std::mt19937 random_;
  std::vector<std::string> loop_variables_;  ///< of the enclosing loops
};

struct Program {
  std::string text;
  std::vector<Statement> statements;

  explicit Program(unsigned seed) { text = Writer(seed).write(statements); }
};

void check_program(unsigned seed) {
  std::mt19937 random(seed);
  const auto array = [&] { return make_array([&](int64_t, int64_t) { return static_cast<int64_t>(random() % 100); }); };
  const Program program(seed);
  SCOPED_TRACE(program.text);
  const int64_t k = static_cast<int64_t>(seed % 7) - 3;
  Environment names;
  names.tensors = {{"x", array()}, {"y", array()}};
  names.numbers = {{"k", k}};
  const std::vector<Array> arguments{names.tensors.at("x"), names.tensors.at("y")};
  for (const Statement& statement : program.statements) statement.run(names);
  Array total = make_array([](int64_t, int64_t) { return 0; });
  for (const Array& each : names.xs) {
    total = make_array([&](int64_t i, int64_t j) { return plus(total[{i, j}], each[{i, j}]); });
  }
  const Array &p = names.d.at("p"), &q = names.d.at("q");
  const std::vector<Array> expected{names.tensors.at("a"), names.tensors.at("b"),
                                    make_array([&](int64_t i, int64_t j) { return modulo(total[{i, j}]); }),
                                    make_array([&](int64_t i, int64_t j) { return minus(p[{i, j}], q[{i, j}]); })};

  const LoweringCase call{"i64:4x3", "i64:4x3", "int=" + std::to_string(k)};
  const ir::Graph lowered = call.lower(program.text);
  for (const ir::Graph& graph : {lowered, ir::simplify(ir::inline_calls(lowered))}) {
    GraphRun run(graph, arguments, k);
    EXPECT_TRUE(run.conditions_hold());
    EXPECT_EQ(graph.results.size(), expected.size());
    for (size_t r = 0; r < expected.size(); ++r) EXPECT_EQ(run.result(r).data, expected[r].data) << "result " << r;
  }
}

TEST(ProgramFuzz, GraphMatchesDirectExecution) {
  for (unsigned seed = 0; seed < case_count(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check_program(seed);
    if (HasFailure()) return;
  }
}

/// Splits a text into words and the characters between them.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (is_word && in_word) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
    in_word = is_word;
  }
  return words;
}

TEST(ProgramFuzz, ChangedProgramsLowerOrFailAtALocation) {
  unsigned accepted = 0;
  for (unsigned seed = 0; seed < case_count(600); ++seed) {
    std::mt19937 random(seed);
    std::vector<std::string> words = words_of(Program(seed % 100).text);
    const auto random_index = [&] { return random() % words.size(); };
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t index = random_index();
      switch (random() % 3) {
        case 0:
          words[index] = words[random_index()];
          break;
        case 1:
          words.insert(words.begin() + static_cast<std::ptrdiff_t>(index), words[random_index()]);
          break;
        default:
          words.erase(words.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
    std::string text;
    for (const std::string& word : words) text += word;
    SCOPED_TRACE(text);
    try {
      LoweringCase{"i64:4x3", "i64:4x3", "int=2"}.lower(text);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::Author) << error.what();
      EXPECT_NE(std::string(error.what()).find("--> <text>:"), std::string::npos) << error.what();
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(accepted, case_count(30));  // otherwise the changes only cause syntax errors
}

}  // namespace
}  // namespace ingot::frontend
