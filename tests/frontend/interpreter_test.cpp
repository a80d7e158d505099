#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/frontend/evaluating.h"

// Tensors, sizes and run-time scalars in Python code: which values stay expressions, which are specialised, and which
// are errors.

namespace ingot::frontend {
namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

TEST(Interpreter, RunTimeScalarsStayExpressions) {
  const Table table = {
      {"def f(a, b: int): return a * 2 + b, a / b, -a, b // 2, a ** 0.5", "(a*2 + b, a / b, -a, b // 2, a ** 0.5)"},
      {"def f(a, b: int): return math.exp(-a), math.floor(a), abs(b), max(b, 3)",
       "(exp(-a), floor(a), abs(b), max(b, 3))"},
      {"def f(a, b: int): return a < b, a == 1, b != b, 1 < a < 5",
       "(a < b, a == 1, False, a < 5 if 1 < a else False)"},
      {"def f(a, b: int): return [a * i for i in range(2)], (a, b) == (a, 3)",
       "([a*0, a*1], b == 3 if a == a else False)"},
      {"def f(a, b: int, c=7): return b + c", "b + 7"},
      {"def f(a: float, b: int): return float(b), int(a), bool(b)", "(float(b), int(a), bool(b))"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(result_of(text), expected) << text;
  }
}

TEST(Interpreter, SpecializesNumbersWhoseValuesEvaluationNeeds) {
  const Table table = {
      {"def f(a): return 1 if a > 1 else 2", "static: 1"},
      {"def f(a: int): return [0 for i in range(a)]", "static: [0, 0]"},
      {"def f(a: int): return a & 3, 1 << a, ~a", "static: (2, 4, -3)"},
      {"def f(a: int): return (1, 2, 3)[a], (0,) * a", "static: (3, (0, 0))"},
      {"def f(a): return a and 5, not a, a in (1, 2)", "static: (5, False, True)"},
      {"def f(a: int, b: int): return a ** b", "static: 8"},
      {"def f(a, b: int): return max(a, b)", "static: 3"},
      {"def f(a: int):\n    n = 0\n    while n < a: n += 1\n    return n", "static: 2"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(result_of(text), expected) << text;
}

TEST(Interpreter, BareExpressionTakesItsFreeNamesAsParameters) {
  const auto parameters = [](const std::string& text) {
    std::string names;
    const auto definition = define(text);
    for (const Parameter& parameter : definition->parameters()) names += parameter.name + " ";
    return names;
  };
  EXPECT_EQ(parameters("relu(x) + y + bias"), "x y bias ");
  EXPECT_EQ(parameters("torch.exp(t) * math.pi + F"), "t F ");
  EXPECT_EQ(parameters("x.to(float) + t.relu() + sum"), "x t sum ");
  EXPECT_EQ(result_of("a * 2 + max(1, 2)"), "a*2 + 2");
}

TEST(Interpreter, ImportsBindSupportedModulesAndFunctions) {
  EXPECT_EQ(result_of("import math as m\nimport torch.nn.functional as G\nfrom math import pi, exp as e\n"
                      "from torch import nn\nfrom typing import Optional\nimport numpy as np\n"
                      "def f(): return m.floor(2.5), pi > 3, e(0), G.relu is nn.functional.relu or True"),
            "(2, True, 1.0, True)");
  EXPECT_EQ(lowered("from torch import relu as r\ndef f(x):\n    from torch.nn import functional as G\n"
                    "    return r(x) + G.relu(x)")
                .graph.results.size(),
            1u);
}

TEST(Interpreter, UserFunctionsShadowTheLibrary) {
  EXPECT_EQ(result_of("def relu(x): return x + 1\ndef f(): return relu(1)"), "2");
  EXPECT_EQ(result_of("def max(a, b): return 'mine'\ndef f(): return max(1, 2)"), "'mine'");
  EXPECT_EQ(result_of("def f():\n    len = 3\n    return len"), "3");
}

TEST(Interpreter, AnnotationsConvertNumbers) {
  const auto kind_of = [](const std::string& annotation, ir::HostKind argument_kind) {
    const auto definition = define("def f(a: " + annotation + "): return a");
    const Signature signature;
    const SymbolValues symbol_values;
    Scratch scratch(signature, symbol_values);
    ir::HostPool& host = scratch.lowered.graph.host;
    const std::vector<std::optional<Value>> arguments = {Number{host.scalar(0, argument_kind)}};
    return host.kind(definition->evaluate(scratch.evaluation, arguments).number());
  };
  using ir::HostKind;
  EXPECT_EQ(kind_of("float", HostKind::Int), HostKind::Float);
  EXPECT_EQ(kind_of("'float'", HostKind::Bool), HostKind::Float);
  EXPECT_EQ(kind_of("int", HostKind::Bool), HostKind::Int);
  EXPECT_EQ(kind_of("bool", HostKind::Int), HostKind::Bool);
  EXPECT_EQ(kind_of("Whatever[int]", HostKind::Int), HostKind::Int);
  const AuthorError error = author_error_of([&] { kind_of("int", HostKind::Float); });
  EXPECT_EQ(error.message, "`a` must be an int, not a float");
  EXPECT_EQ(error.location, "1:7");
  EXPECT_EQ(author_error_of([&] { kind_of("torch.Tensor", HostKind::Float); }).message,
            "`a` must be a tensor, not a number");
}

TEST(Interpreter, AssertsBecomeConditions) {
  const auto [definition, graph] = lowered(
      "def f(x, y, k: int):\n"
      "    assert x.ndim == 2\n"
      "    assert x.shape[0] > 4 and k != 7, f'{k} is bad'\n"
      "    assert x.shape == y.shape, 'shapes'\n"
      "    return x * k\n");
  std::vector<std::string> messages;
  for (const ir::Condition& condition : graph.conditions)
    if (condition.kind == ir::Condition::Kind::True) messages.push_back(condition.message);
  EXPECT_EQ(messages, (std::vector<std::string>{"{k} is bad", "{k} is bad", "shapes"}));
  EXPECT_TRUE(graph.statics.empty());
  EXPECT_EQ(author_error_of([] { lowered("def f(x):\n    assert x.ndim == 3, 'three dims'\n    return x"); }).message,
            "three dims");
}

TEST(Interpreter, AssignmentsNameTheirNodes) {
  const auto [definition, graph] = lowered(
      "def f(x, y):\n"
      "    alias = x\n"
      "    total, product = x + y, x * y\n"
      "    for part in (total, product): pass\n"
      "    total += product\n"
      "    def inner(z):\n"
      "        doubled = z + z\n"
      "        return doubled\n"
      "    return relu(inner(total))\n");
  std::vector<std::string> names;
  for (uint32_t i = 0; i < graph.count(); ++i)
    for (const std::string& name : graph.names({i})) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"total", "product", "total", "doubled"}));
}

TEST(Interpreter, NodesHaveTheirSourceSpans) {
  const auto [definition, graph] = lowered("def f(x, y):\n    return torch.exp(x - y) * 2\n");
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < graph.count(); ++i)
    if (ir::is_primitive(graph[ir::NodeId{i}].op)) texts.emplace_back(graph.span({i}).text());
  EXPECT_EQ(texts, (std::vector<std::string>{"x - y", "torch.exp(x - y)", "torch.exp(x - y) * 2"}));
}

TEST(Interpreter, EvaluatesLongSumsWithoutRecursion) {
  std::string sum = "x";
  for (int i = 1; i < 10'000; ++i) sum += " + x";
  EXPECT_EQ(lowered(sum).graph.count(), 10'000u);
  EXPECT_EQ(result_of("def f(): return " + std::string("1") +
                      [] {
                        std::string rest;
                        for (int i = 1; i < 10'000; ++i) rest += "+1";
                        return rest;
                      }()),
            "10000");
}

TEST(Interpreter, FreesDeepListsWithoutRecursion) {
  EXPECT_EQ(result_of("def f():\n    xs = []\n    for i in range(80000): xs = [xs]\n    return len(xs)"), "1");
}

struct ErrorCase {
  std::string text, location, message, help;
};

TEST(InterpreterErrors, Tensors) {
  const std::string unknown = " depends on the values of a tensor, which are not known when the op is compiled";
  const std::string chained = "a chained comparison has no meaning on tensors";
  const std::vector<ErrorCase> table = {
      {"0 < x < y", "1:1", chained, "write `(0 < x) & (x < y)`"},
      {"x < y < 1", "1:1", chained, "write `(x < y) & (y < 1)`"},
      {"1 < 2 < x", "1:1", chained, "write `(1 < 2) & (2 < x)`"},
      {"x and y", "1:1", "`and` has no meaning on tensors",
       "write `&` between masks, each in parentheses, or torch.logical_and(a, b)"},
      {"0 or x", "1:1", "`or` has no meaning on tensors",
       "write `|` between masks, each in parentheses, or torch.logical_or(a, b)"},
      {"not x", "1:1", "`not` has no meaning on tensors", "write `~mask`, or torch.logical_not(x)"},
      {"y + (x if y > 0 else -x)", "1:6", "the condition of `a if c else b` depends on the values of a tensor",
       "write `where(y > 0, x, -x)`"},
      {"x in [1, 2]", "1:1", "`in` has no meaning on tensors", "compare with `==`, element by element"},
      {"(x,) == (y,)", "1:1", "tensors inside tuples or lists are not compared",
       "compare the tensors themselves, one by one"},
      {"def f(x):\n    if x > 0: return x\n    return -x", "2:8", "the condition of an `if`" + unknown,
       "choose element by element with where(condition, a, b)"},
      {"def f(x):\n    while x: pass", "2:11", "the condition of a `while`" + unknown,
       "choose element by element with where(condition, a, b)"},
      {"def f(x):\n    assert x > 0\n    return x", "2:12", "the condition of an `assert`" + unknown,
       "choose element by element with where(condition, a, b)"},
      {"def f(x):\n    for i in range(x): pass\n    return x", "2:14",
       "the bound of a range must be a number known when the op is compiled, but the values of a tensor are not",
       "pass it as a parameter annotated `int` or `float`"},
      {"def f(x):\n    x[0] = None\n    return x", "2:5", "can't assign None to a float32 tensor",
       "assign a tensor or a number"},
      {"rleu(x)", "1:1", "unknown name `rleu`", "did you mean `relu`?"},
      {"x.rleu()", "1:3", "a tensor has no `rleu` in the language", "did you mean `relu`?"},
      {"x.unsqueeze_(0)", "1:3", "a tensor has no `unsqueeze_` in the language",
       "write `x = x.unsqueeze(…)`, or x.copy_(x.unsqueeze(…))"},
      {"torch.rleu(x)", "1:7", "`torch.rleu` is not in the language", "did you mean `relu`?"},
      {"x(1)", "1:1", "unknown name `x`", ""},
      {"x + x(1)", "1:5", "a float32 tensor cannot be called", "an index is written in `[…]`"},
      {"int(x) * x", "1:1", "int() needs the value of a tensor, which is not known when the op is compiled",
       "`x.long()` converts the elements"},
      {"math.exp(x)", "1:1", "math.exp takes numbers, not a float32 tensor", "the functions of torch take tensors"},
      {"max([x, y])", "1:1", "max() does not compare the tensors of a sequence",
       "write `maximum(a, b)` for two tensors"},
      {"def f(x: float): return x", "1:25", "an op returns tensors, not a number",
       "a number alone needs no kernel: give it the shape of a tensor with full_like"},
      {"clamp(x, mni=0)", "1:1", "`clamp` has no parameter `mni`",
       "did you mean `min`? its parameters are `clamp(input, min=None, max=None)`"},
  };
  for (const ErrorCase& row : table) {
    SCOPED_TRACE(row.text);
    const AuthorError error = author_error_of([&] { lowered(row.text); });
    EXPECT_EQ(error.location, row.location);
    EXPECT_EQ(error.message, row.message);
    EXPECT_EQ(error.help, row.help);
  }
}

}  // namespace
}  // namespace ingot::frontend
