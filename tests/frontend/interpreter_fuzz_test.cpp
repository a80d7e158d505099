#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/case_count.h"
#include "tests/frontend/evaluating.h"

// Lowering any program ends with a graph or with an error of Fault::Author.

namespace ingot::frontend {
namespace {

/// Random expressions over the parameters x and y (tensors), k (an int), h (a float), and static values.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string expression(int depth) {
    if (depth == 0) return leaf();
    const auto inner = [&] { return expression(depth - 1); };
    switch (random_() % 14) {
      case 0:
      case 1:
      case 2:
        return "(" + inner() + " " + pick(kBinary) + " " + inner() + ")";
      case 3:
        return pick({"-", "+", "~", "not "}) + inner();
      case 4:
        return inner() + "[" + index(depth - 1) + "]";
      case 5:
        return "(" + inner() + ", " + inner() + ")";
      case 6:
        return "[" + inner() + " for i in " + inner() + "]";
      case 7:
        return inner() + " if " + inner() + " else " + inner();
      case 8:
        return pick(kFunctions) + "(" + inner() + ")";
      case 9:
        return pick(kFunctions) + "(" + inner() + ", " + inner() + ")";
      case 10:
        return inner() + "." + pick(kMethods) + "()";
      case 11:
        return inner() + "." + pick({"shape", "dtype", "ndim", "T"});
      case 12:
        return "(lambda i, j=" + inner() + ": " + inner() + ")(" + inner() + ")";
      default:
        return "[*" + inner() + ", " + inner() + "]";
    }
  }

 private:
  using Words = std::vector<std::string>;

  std::string leaf() {
    return pick({"x", "y", "k", "h", "i", "0", "1", "-1", "2", "0.5", "None", "True", "'s'", "()"});
  }
  std::string index(int depth) {
    switch (random_() % 4) {
      case 0:
        return expression(depth);
      case 1:
        return leaf() + ":" + leaf();
      case 2:
        return "..., " + leaf();
      default:
        return "::" + leaf();
    }
  }
  std::string pick(const Words& words) { return words[random_() % words.size()]; }

  inline static const Words kBinary = {"+", "-", "*", "/",  "//", "%",   "**", "<",  "==", "!=",    ">=",
                                       "&", "|", "^", "<<", ">>", "and", "or", "is", "in", "not in"};
  inline static const Words kFunctions = {"abs",      "max",        "min",       "len",    "range", "sum",
                                          "int",      "float",      "list",      "zip",    "relu",  "silu",
                                          "math.exp", "math.floor", "cat",       "stack",  "exp",   "pow",
                                          "clamp",    "where",      "torch.add", "F.gelu", "round", "sorted"};
  inline static const Words kMethods = {"float", "t",     "relu",    "unbind", "flatten",
                                        "half",  "numel", "squeeze", "append", "pop"};
  std::mt19937 random_;
};

void expect_graph_or_author_error(const std::string& text) {
  try {
    lowered(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Author) << error.what() << "\n" << text;
  }
}

TEST(InterpreterFuzz, RandomExpressions) {
  Generator generator(1);
  for (unsigned round = 0; round < case_count(3000); ++round)
    expect_graph_or_author_error("def f(x, y, k: int, h: float, i=3): return " +
                                 generator.expression(1 + static_cast<int>(round % 4)));
}

TEST(InterpreterFuzz, RandomStatements) {
  Generator generator(2);
  for (unsigned round = 0; round < case_count(1000); ++round) {
    const auto expression = [&] { return generator.expression(static_cast<int>(round % 3)); };
    expect_graph_or_author_error("def f(x, y, k: int, h: float, i=3):\n    a, b = " + expression() + ", " +
                                 expression() + "\n    for i in " + expression() + ":\n        a = " + expression() +
                                 "\n        if " + expression() + ": break\n    assert " + expression() +
                                 "\n    b += a\n    return b");
  }
}

}  // namespace
}  // namespace ingot::frontend
