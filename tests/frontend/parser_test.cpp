#include "frontend/syntax/parser.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/ast_print.h"
#include "tests/frontend/parsing.h"

namespace ingot::frontend {
namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

/// The printed tree of a source text, without locations, its lines joined by " | ".
std::string tree(const std::string& text) {
  std::string result;
  const std::string printed = print(parse_text(text));
  for (size_t at = 0; at < printed.size();) {
    const size_t end = printed.find('\n', at);
    std::string line = printed.substr(at, end - at);
    if (const size_t comment = line.rfind("# "); comment != std::string::npos) line.resize(comment);
    line.resize(line.find_last_not_of(' ') + 1);
    result += (result.empty() ? "" : " | ") + line;
    at = end + 1;
  }
  return result;
}

/// The printed tree of one expression.
std::string term(const std::string& expression) {
  const std::string whole = tree("def f():\n    return " + expression + "\n");
  const std::string head = "def f() |   return ";
  EXPECT_TRUE(whole.starts_with(head)) << whole;
  return whole.substr(head.size());
}

TEST(Parser, Expressions) {
  const Table table = {
      // Precedence and association are Python's.
      {"a + b * c - d", "(- (+ a (* b c)) d)"},
      {"a - b - c", "(- (- a b) c)"},
      {"-a ** -b ** c", "(- (** a (- (** b c))))"},
      {"~a & b | c ^ d << e + f", "(| (& (~ a) b) (^ c (<< d (+ e f))))"},
      {"a // b % c / d * +e", "(* (/ (% (// a b) c) d) (+ e))"},
      {"a or b and not c in d", "(or a (and b (not (compare c in d))))"},
      {"a < b + 1", "(compare a < (+ b 1))"},
      {"a < b <= c != d", "(compare a < b <= c != d)"},
      {"a is not b, c not in d, e is f", "(tuple (compare a is not b) (compare c not in d) (compare e is f))"},
      {"a if b else c if d else e", "(if b a (if d c e))"},
      {"lambda: 0, 1", "(tuple (lambda () 0) 1)"},
      {"lambda x, *y, z=1: x if y else z", "(lambda (x, *y, z=1) (if y x z))"},
      {"(a + b) * c", "(* (+ a b) c)"},
      // Tuples, lists and comprehensions.
      {"()", "(tuple)"},
      {"(a,)", "(tuple a)"},
      {"a,", "(tuple a)"},
      {"a, *b, c", "(tuple a *b c)"},
      {"[]", "(list)"},
      {"[a, b,]", "(list a b)"},
      {"{}, {'a': x, **d, 1: y}", "(tuple (dict) (dict \"a\": x **d 1: y))"},
      {"{k: v for k, v in x}", "(dict-of (tuple k v) (for (tuple k v) x))"},
      {"f(x, **d, dim=1, **{})", "(call f x **d dim=1 **(dict))"},
      {"(y := x + 1) * x[i := 0]", "(* (:= y (+ x 1)) ([] x (:= i 0)))"},
      {"[x + y for x, y in z if x if y for w in x]", "(comprehension (+ x y) (for (tuple x y) z if x if y) (for w x))"},
      {"f(x for x in y)", "(call f (generator x (for x y)))"},
      {"(x for x in y)", "(generator x (for x y))"},
      // Calls, attributes, indices.
      {"f(a, *b, c=d, *e)", "(call f a *b *e c=d)"},
      {"f()()(a)", "(call (call (call f)) a)"},
      {"a.b.c(d).e", "(. (call (. (. a b) c) d) e)"},
      {"a[b]", "([] a b)"},
      {"a[b, c]", "([] a (tuple b c))"},
      {"a[b,]", "([] a (tuple b))"},
      {"a[:, ..., None, 1:, :2, ::3, a:b:c]",
       "([] a (tuple (slice _ _ _) ... None (slice 1 _ _) (slice _ 2 _) (slice _ _ 3) (slice a b c)))"},
      {"-x[0].t() ** 2", "(- (** (call (. ([] x 0) t)) 2))"},
      // Brackets may span several lines.
      {"(a\n  + b # why\n\n  )", "(+ a b)"},
      {"a \\\n    + b", "(+ a b)"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(term(text), expected) << text;
}

TEST(Parser, Numbers) {
  const Table table = {
      {"0, 00, 1_000, 0xFf, 0o17, 0b1_01, 0X1f", "(tuple 0 0 1000 255 15 5 31)"},
      {"9223372036854775807, -9223372036854775808", "(tuple 9223372036854775807 -9223372036854775808)"},
      {"1., .5, 1e3, 1E-3, 1_0.2_5e+1_0, 0.1", "(tuple 1.0 0.5 1000.0 0.001 1.025e+11 0.1)"},
      {"1e400, 0.0000001e400, 1e-400, 0." + std::string(400, '0') + "1", "(tuple inf inf 0.0 0.0)"},
      {"5e-324, 1.7976931348623157e308, 012.5", "(tuple 5e-324 1.7976931348623157e+308 12.5)"},
      {"True, False, None, ...", "(tuple True False None ...)"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(term(text), expected) << text;
}

TEST(Parser, Strings) {
  const Table table = {
      {R"('a' "b" '''c''', "")", R"((tuple "abc" ""))"},
      {"'\\n\\t\\\\\\'\\x41\\u00e9\\U0001F600\\101\\\nz'", R"("\n\x09\\'Aé😀Az")"},
      {R"(r'\n\'' R"\d")", R"("\\n\\'\\d")"},
      {R"('\d')", R"("\\d")"},
      {"'''one\r\ntwo\n'three' '''", R"("one\ntwo\n'three' ")"},
      {"u'a' U\"b\"", R"("ab")"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(term(text), expected) << text;
}

TEST(Parser, Statements) {
  const Table table = {
      {"return", "return"},
      {"a = b = c, d", "a = b = (tuple c d)"},
      {"a, (b, [c, d]) = e", "(tuple a (tuple b (list c d))) = e"},
      {"a[0] = b", "([] a 0) = b"},
      {"a += 1; b **= 2; c //= 3; d[0] <<= 4", "a += 1 |   b **= 2 |   c //= 3 |   ([] d 0) <<= 4"},
      {"a: int = 3", "a: int = 3"},
      {"a: Tensor", "a: Tensor"},
      {"'a docstring'", "\"a docstring\""},
      {"pass;", "pass"},
      {"import a.b, c.d as e", "import a as a |   import c.d as e"},
      {"from a.b import c, d as e", "import a.b.c as c |   import a.b.d as e"},
      {"from . import (a,\n  b,)", "import ..a as a |   import ..b as b"},
      {"from a import *", "import a.*"},
      {"assert a, 'b'", "assert a, \"b\""},
      {"raise E(a, b)", "raise E a b"},
      {"raise E", "raise E"},
      {"raise E(f'{x} is bad')", "raise E \"{x} is bad\""},
      {"for i in range(3): break", "for i in (call range 3) |     break"},
      {"for i, j in a, b:\n        continue", "for (tuple i j) in (tuple a b) |     continue"},
      {"while a:\n        if b: break", "while a |     if b |       break"},
      {"if a: b\n    elif c:\n        d\n    else: e; g", "if a |     b |   elif c |     d |   else |     e |     g"},
      {"def g(a, *, b: int = 1) -> None: return a", "def g(a, *, b: int=1) |     return a"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(tree("def f():\n    " + text + "\n"), "def f() |   " + expected);
}

TEST(Parser, PrintsAFile) {
  EXPECT_EQ(print(parse_text("\"\"\"Two ops.\"\"\"\n"
                             "import torch\n"
                             "EPS = 1e-7\n"
                             "\n"
                             "@ingot.op(debug=True)\n"
                             "def relu_add(x, y, bias: float = 0.5):\n"
                             "    # a comment\n"
                             "    z = torch.relu(x)\n"
                             "\n"
                             "    return z + y + bias")),
            "\"Two ops.\"                                                  # 1:1\n"
            "import torch as torch                                       # 2:1\n"
            "EPS = 1e-07                                                 # 3:1\n"
            "@(call (. ingot op) debug=True)\n"
            "def relu_add(x, y, bias: float=0.5)                         # 6:1\n"
            "  z = (call (. torch relu) x)                               # 8:5\n"
            "  return (+ (+ z y) bias)                                   # 10:5\n");
}

TEST(Parser, AcceptsAllLineEndingsAndIndentations) {
  for (const char* text : {
           "def f(x):\n    y = x\n    return y\n",
           "def f(x):\r\n    y = x\r\n    return y\r\n",
           "def f(x):\r    y = x\r    return y",
           "\n\n  \ndef f(x):\n\n    y = x\n# x\n      # x\n    return y",
           "def f(x): y = x; return y",
           "\xEF\xBB\xBF"
           "def f(x):\n\ty = x\n\treturn y",
           "   def f(x):\n       y = x\n       return y\n   # the end\n",
       })
    EXPECT_EQ(tree(text), "def f(x) |   y = x |   return y") << text;
}

TEST(Parser, AcceptsNamesInAnyScript) {
  EXPECT_EQ(tree("größe + λ2 * 変数"), "def expression(größe, λ2, 変数) |   return (+ größe (* λ2 変数))");
}

TEST(Parser, ExpressionBecomesADefOfItsFreeNames) {
  const IsKnownName is_known = [](std::string_view name, bool has_attribute) {
    return name == (has_attribute ? "torch" : "float");
  };
  const Table table = {
      {"relu(x) + y + bias", "x, y, bias"},
      {"-e", "e"},
      {"b * a + b", "b, a"},
      {"torch.where(m, x, 0)", "m, x"},
      {"x.clamp(0) + torch * x.to(float)", "x, torch"},
      {"t * x + relu(t)", "t, x"},
      {"[a * k for a in b if a > c][0]", "k, b, c"},
      {"[x for x in x][0]", "x"},
      {"(lambda a, b=d: a + b + c)(e)", "d, c, e"},
      {"EPS = 1e-7\nx + EPS", "x"},
      {"3.0", ""},
      {"(\n  x\n  + y\n)", "x, y"},
  };
  for (const auto& [text, parameters] : table) {
    const ast::Module module = parse_text(text, is_known);
    EXPECT_TRUE(module.is_expression);
    const std::string printed = print(module), head = "def expression(";
    const size_t at = printed.find(head) + head.size();
    EXPECT_EQ(printed.substr(at, printed.find(')', at) - at), parameters) << text;
  }
  EXPECT_FALSE(parse_text("def f(x): return x").is_expression);
}

TEST(Parser, ParsesLongSourcesWithoutRecursion) {
  std::string sum = "x", chain = "x", elif_chain = "def f(x):\n    if x: pass\n";
  for (int i = 0; i < 10'000; ++i) {
    sum += " + x";
    chain += ".t()";
    elif_chain += "    elif x: pass\n";
  }
  EXPECT_EQ(parse_text(sum).functions.front().parameters.size(), 1u);
  EXPECT_GT(print(parse_text(sum)).size(), 60'000u);
  EXPECT_GT(print(parse_text(chain)).size(), 60'000u);
  EXPECT_GT(print(parse_text(elif_chain)).size(), 60'000u);
}

TEST(Parser, CollectsTheNamesThatAFunctionBinds) {
  const ast::Module module = parse_text(
      "def f(a, *b, c=1):\n"
      "    d = e = a\n"
      "    for g, h in b: i += 1\n"
      "    def j(k): l = k\n"
      "    m: int = [n for n in b]\n"
      "    import o.p, q as r\n"
      "    return s[t]\n");
  const ast::Function& outer = module.functions.back();
  EXPECT_EQ(outer.locals, (std::vector<std::string>{"a", "b", "c", "d", "e", "g", "h", "i", "j", "m", "o", "r"}));
  EXPECT_TRUE(outer.returns_value);
  EXPECT_EQ(module.functions.front().locals, (std::vector<std::string>{"k", "l"}));
  EXPECT_FALSE(module.functions.front().returns_value);
}

TEST(Parser, SpansCoverTheirSource) {
  const ast::Module module = parse_text("def f(x):\n    return (x + y) * z[0]\n");
  std::vector<std::string> texts;
  for (const ast::Expr& expression : module.exprs) texts.emplace_back(expression.span.text());
  EXPECT_EQ(texts, (std::vector<std::string>{"x", "y", "x + y", "z", "0", "z[0]", "(x + y) * z[0]"}));
}

}  // namespace
}  // namespace ingot::frontend
