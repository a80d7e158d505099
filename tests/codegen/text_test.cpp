// Names, literals, comments and expressions of generated source.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "codegen/print/header_comment.h"
#include "codegen/target/literals.h"
#include "codegen/target/names.h"
#include "codegen/target/prelude.h"
#include "codegen/target/reserved_names.h"
#include "codegen/target/spelling.h"
#include "codegen/target/spellings.h"
#include "tests/codegen/execution.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::HostValue;

TEST(Names, KeepTheAuthorsIfPossible) {
  EXPECT_EQ(identifier("bias"), "bias");
  EXPECT_EQ(identifier("y1"), "y1") << "a local variable may hide the C library's Bessel function";
  EXPECT_EQ(entry_name("y1"), "y1_");
  EXPECT_EQ(entry_name("relu_add"), "relu_add");
}

TEST(Names, KernelNamesDoNotClashWithPreludes) {
  for (const char* name : {"int64", "float16", "Sum", "Product", "Deal", "Resident", "Vec", "inf", "math", "fused",
                           "place_of", "nearbyintf", "fmaf", "rsqrtf", "ldexpf", "sqrtl", "memmove"})
    EXPECT_EQ(entry_name(name), std::string(name) + "_");
  for (const char* name : {"scale", "n", "gelu", "softmax", "row", "runs", "threads"})
    EXPECT_EQ(entry_name(name), name);
}

TEST(Names, FileScopeNamesIncludeCalledFunctions) {
  const auto names = declared_or_called_names(
      "// note: nothing\ntemplate <typename T, int n>\nstruct Box {\n  T first[n];\n  T get(int at) { return "
      "__builtin_fmaf(at, "
      "more(at), 1); }\n};\nnamespace space {\nint inner;\n}\n");
  for (const char* name : {"struct", "Box", "get", "fmaf", "more", "namespace", "space"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"note", "nothing", "T", "n", "first", "at", "inner"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(Names, DoNotClashWithTheTargets) {
  for (const auto& [name, safe] : std::map<std::string, std::string>{{"int", "int_"},
                                                                     {"threadIdx", "threadIdx_"},
                                                                     {"float4", "float4_"},
                                                                     {"NULL", "NULL_"},
                                                                     {"M_PI", "M_PI_"},
                                                                     {"INFINITY", "INFINITY_"},
                                                                     {"linux", "linux_"},
                                                                     {"__x", "x"},
                                                                     {"a__b", "a_b"},
                                                                     {"_", "v"},
                                                                     {"λ", "lambda"},
                                                                     {"Δx", "Deltax"},
                                                                     {"ñ", "uf1"},
                                                                     {"2d", "v2d"},
                                                                     {"", "v"},
                                                                     {"a.b", "a_b"}})
    EXPECT_EQ(identifier(name), safe);
}

TEST(Names, AreUnique) {
  Names names("f(x)");
  EXPECT_EQ(names.claim("x"), "x_1");
  EXPECT_EQ(names.claim("y"), "y");
  EXPECT_EQ(names.claim("y"), "y_1");
  EXPECT_EQ(names.claim("y_1"), "y_1_1");
  EXPECT_EQ(names.claim("union"), "union_");
  EXPECT_EQ(names.claim("union"), "union_1");
}

TEST(Names, PreludeNamesAreReserved) {
  for (const Target::Kind target : {Target::Kind::Cuda, Target::Kind::Cpu}) {
    Names names(reserved_text(target));
    for (const char* name : {"maximum", "expf", "exp", "nearbyintf", "inf", "nan", "bit_cast", "float16"})
      EXPECT_NE(names.claim(name), name);
  }
}

TEST(Literals, ReadBackAsTheSameValue) {
  EXPECT_EQ(literal(HostValue::of(0.5), DType::F32), "0.5f");
  EXPECT_EQ(literal(HostValue::of(0.1), DType::F64), "0.1");
  EXPECT_EQ(literal(HostValue::of(0.1), DType::F32), "0.1f");
  EXPECT_EQ(literal(HostValue::of(1e300), DType::F32), "inf");
  EXPECT_EQ(literal(HostValue::of(-INFINITY), DType::F64), "-double(inf)");
  EXPECT_EQ(literal(HostValue::of(-0.0), DType::F32), "-0.0f");
  EXPECT_EQ(literal(HostValue::of(NAN), DType::F32), "nan");
  EXPECT_EQ(literal(HostValue::of(int64_t{7}), DType::F32), "7.0f");
  EXPECT_EQ(literal(HostValue::of(true), DType::Bool), "true");
  EXPECT_EQ(literal(HostValue::of(0.0), DType::Bool), "false");
  EXPECT_EQ(literal(HostValue::of(int64_t{300}), DType::U8), "44");
  EXPECT_EQ(literal(HostValue::of(int64_t{-1}), DType::U8), "255");
  EXPECT_EQ(literal(HostValue::of(std::numeric_limits<int64_t>::min()), DType::I64), "(-9223372036854775807LL - 1)");
  EXPECT_EQ(literal(HostValue::of(int64_t{std::numeric_limits<int32_t>::min()}), DType::I32), "(-2147483647 - 1)");
  EXPECT_EQ(literal(HostValue::of(1e30), DType::F32), "1e+30f");
}

TEST(Comments, CannotBeEndedByTheirText) {
  EXPECT_EQ(comment_out("\n\na */ b\n\n  c\\\nd \\ \t\n?\?/\n"), "// a */ b\n//\n//   c\\ .\n// d \\ .\n// ? ?/\n");
  EXPECT_EQ(comment_out("tab\tbell\a\rλ\xff\xe2\x80\xae"), "// tab    bell??λ??\n");
  EXPECT_EQ(comment_out(" \n "), "");
}

TEST(Prelude, ContainsOnlyUsedSections) {
  const std::string text = prelude_for(Target::Kind::Cuda, "float f(float x) { return maximum(x, 1.0f); }  // load");
  EXPECT_NE(text.find("float maximum(float a"), std::string::npos);
  EXPECT_EQ(text.find("double maximum"), std::string::npos);
  EXPECT_EQ(text.find("load"), std::string::npos) << text;
  EXPECT_EQ(prelude_for(Target::Kind::Cpu, "a + b"), "");
  EXPECT_NE(prelude_for(Target::Kind::Cpu, "float16").find("half_to_float"), std::string::npos);
}

TEST(Prelude, HasASectionForEachFunction) {
  const std::vector<std::string> names =
      prelude_names(Target::Kind::Cuda, "auto f() { return in_turn<float, 1>() + maximum(1.0f, 2.0f); }");
  EXPECT_EQ(names, (std::vector<std::string>{"maximum", "place_of", "in_turn"}));
}

TEST(Prelude, CompilesAsAWhole) {
  const auto file = [](const char* name) {
    std::ifstream stream(std::string("codegen/target/prelude/") + name);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  ASSERT_NE(file("cpu_types.h").find("float16"), std::string::npos) << "run this test in the repository root";
  EXPECT_TRUE(SharedLibrary(file("libm.h") + file("cpu_types.h") + file("cpu.h"), "-Wextra").is_loaded());
  EXPECT_TRUE(SharedLibrary(cuda_on_host({Target::Kind::Cuda, 90}, {}) + without_ptx(file("cuda.cuh"))).is_loaded());
}

// A random expression, printed by spellings, and the same tree evaluated by calls.

struct Tree {
  Text printed;
  std::string calls;  // the same expression, with a function call for each operator
};

constexpr std::string_view kPatterns[] = {"a + b", "a - b",  "a * b",  "a & b",  "a | b",       "a ^ b", "a << (b & 3)",
                                          "a < b", "a == b", "a != b", "-a",     "id(!a)",      "~a",    "a ? b : c",
                                          "id(a)", "int(a)", "a && b", "a || b", "(a - 1) * b", "1 - a", "a >= b"};

Tree grow(std::mt19937& random, int depth) {
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  if (depth == 0 || pick(6) == 0) {
    const std::string leaf =
        pick(2) == 0 ? std::string(1, "xyz"[pick(3)]) : std::to_string(static_cast<int>(pick(9)) - 4);
    return {{leaf, leaf[0] == '-' ? Precedence::Unary : Precedence::Primary}, leaf};
  }
  const size_t pattern = pick(std::size(kPatterns));
  std::vector<Text> operands;
  std::string calls = "p" + std::to_string(pattern) + "(";
  for (int k = 0; k < 3; ++k) {
    const Tree child = grow(random, depth - 1);
    operands.push_back(child.printed);
    calls += (k > 0 ? ", " : "") + child.calls;
  }
  return {Spelling(kPatterns[pattern]).fill(operands), calls + ")"};
}

TEST(Expressions, KeepTheirMeaningInSource) {
  std::mt19937 random(11);
  std::string text = "inline int id(int a) { return a; }\n";
  for (size_t p = 0; p < std::size(kPatterns); ++p)
    text += "inline int p" + std::to_string(p) + "(int a, int b, int c) { (void)a, (void)b, (void)c; return " +
            std::string(kPatterns[p]) + "; }\n";
  text += "extern \"C\" int first_mismatch(int x, int y, int z) {\n";
  constexpr int kTrees = 600;
  for (int t = 0; t < kTrees; ++t) {
    const Tree tree = grow(random, 4);
    text += "  if ((int)(" + tree.printed.text + ") != " + tree.calls + ") return " + std::to_string(t + 1) + ";\n";
  }
  text += "  return 0;\n}\n";
  // -Wparentheses reports expressions that could mislead readers.
  const SharedLibrary library(text, "-O0 -fwrapv -Wno-all -Wparentheses");
  auto* first_mismatch = library.find<int(int, int, int)>("first_mismatch");
  ASSERT_NE(first_mismatch, nullptr);
  for (const auto& [x, y, z] : {std::tuple{1, 2, 3}, std::tuple{-5, 0, 7}, std::tuple{0, 0, 0}, std::tuple{100, -3, 1}})
    EXPECT_EQ(first_mismatch(x, y, z), 0);
}

TEST(Expressions, HaveNoMoreParenthesesThanNeeded) {
  const auto fill = [](std::string_view pattern, std::vector<Text> operands) {
    return Spelling(pattern).fill(operands, "int8", "f").text;
  };
  const Text sum{"x + y", Precedence::Additive}, product{"x * y", Precedence::Multiplicative};
  const Text less{"x < y", Precedence::Relational}, choice{"x ? y : z", Precedence::Conditional}, one{"1"};
  EXPECT_EQ(fill("a + b", {sum, one}), "x + y + 1");
  EXPECT_EQ(fill("a + b", {one, sum}), "1 + (x + y)");
  EXPECT_EQ(fill("a + b", {product, product}), "x * y + x * y");
  EXPECT_EQ(fill("a * b", {sum, product}), "(x + y) * (x * y)");
  EXPECT_EQ(fill("exp#(a)", {sum}), "expf(x + y)");
  EXPECT_EQ(fill("T(a + b)", {sum, one}), "int8(x + y + 1)");
  EXPECT_EQ(fill("a ? b : c", {less, sum, choice}), "x < y ? x + y : x ? y : z");
  EXPECT_EQ(fill("a ? b : c", {choice, choice, one}), "(x ? y : z) ? (x ? y : z) : 1");
  EXPECT_EQ(fill("a & b", {less, one}), "(x < y) & 1");
  EXPECT_EQ(fill("-a", {{"-1", Precedence::Unary}}), "-(-1)");
  EXPECT_EQ(fill("a - b", {one, {"-1", Precedence::Unary}}), "1 - -1");
  EXPECT_EQ(fill("a", {sum}), "x + y");
}

TEST(Spellings, UseEachOperandOnce) {
  for (const Target::Kind target : {Target::Kind::Cuda, Target::Kind::Cpu}) {
    for (const ir::OpInfo& info : ir::primitives()) {
      for (const DType work : {DType::F32, DType::F64, DType::I32, DType::U8, DType::Bool}) {
        if (!info.accepts.contains(work) || (info.rule == ir::Rule::Float && !ir::is_floating(work)) ||
            (info.rule == ir::Rule::Logical && work != DType::Bool))
          continue;
        const std::array<Text, 3> operands = {Text{"first"}, Text{"second"}, Text{"third"}};
        const std::string text = spell(target, info.op, work, operands).text;
        for (size_t k = 0; k < 3; ++k) {
          size_t count = 0;
          for (size_t at = 0; (at = text.find(operands[k].text, at)) != std::string::npos; ++at) ++count;
          EXPECT_LE(count, k < static_cast<size_t>(info.arity) ? 1u : 0u) << info.id << ": " << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot::codegen
