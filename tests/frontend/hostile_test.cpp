#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cctype>
#include <chrono>
#include <ostream>
#include <string>

#include "tests/frontend/evaluating.h"

// Lowering any source text ends within kMaxTime and kMaxKilobytes, with a graph or with an error of Fault::Author.

namespace ingot::frontend {
namespace {

/// The slowest source takes half a second on an idle machine, and SECURITY.md promises about a second; kMaxTime is
/// longer because of slower machines. Without the limits of lowering, these sources take minutes.
constexpr std::chrono::seconds kMaxTime{4};
constexpr long kMaxKilobytes = 1'000'000;

/// Sanitizers and builds without optimisation are slower, whatever the source.
#if defined(__OPTIMIZE__) && !defined(INGOT_SANITIZED)
constexpr int kTimeFactor = 1;
#else
constexpr int kTimeFactor = 10;
#endif

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// The error message of a source text; "" if it lowers to a graph.
std::string outcome(const std::string& text) {
  try {
    lowered(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Author) << error.what();
    return error.message();
  }
}

/// The processor time of this thread, which does not count the time spent waiting for a core.
std::chrono::nanoseconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// `prefix`, then `count` copies of `repeated`, with the copy's number in place of each #, then `suffix`. Only the test
/// that uses the source expands it: GoogleTest creates the parameters of all tests in every test process.
struct RepeatedSource {
  std::string prefix;
  int count = 0;
  std::string repeated = {}, suffix = {};

  std::string text() const {
    std::string text = prefix;
    for (int i = 0; i < count; ++i) {
      for (const char c : repeated) text += c == '#' ? std::to_string(i) : std::string(1, c);
    }
    return text + suffix;
  }
};

struct Case {
  const char* title;
  RepeatedSource source;
  const char* message;  ///< a part of the error; "" if the source is a valid op
};

/// Prints the parameter of a test by its title, for GoogleTest.
void PrintTo(const Case& test_case, std::ostream* out) { *out << test_case.title; }

/// The name of a test: "many aliases" becomes "ManyAliases".
std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name;
  bool begins_word = true;
  for (const char* c = info.param.title; *c; ++c) {
    const auto letter = static_cast<unsigned char>(*c);
    const bool is_letter = std::isalpha(letter) != 0;
    if (is_letter) name += begins_word ? static_cast<char>(std::toupper(letter)) : *c;
    begins_word = !is_letter;
  }
  return name;
}

RepeatedSource lines(std::initializer_list<const char*> body) {
  RepeatedSource source{"def f(x, y, k: int, h: float):\n"};
  for (const char* line : body) source.prefix += std::string("    ") + line + "\n";
  return source;
}

RepeatedSource many_lines(int count, const std::string& line) {
  return {"def f(x):\n    y = x\n", count, "    " + line + "\n", "    return x\n"};
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, LowersOrFailsWithinLimits) {
  const Case& test_case = GetParam();
  const std::string text = test_case.source.text();
  const long initial_kilobytes = peak_kilobytes();
  const auto begin_time = thread_time();
  const std::string message = outcome(text);
  EXPECT_LT(thread_time() - begin_time, kMaxTime * kTimeFactor);
  EXPECT_LT(peak_kilobytes() - initial_kilobytes, kMaxKilobytes);
  if (*test_case.message) {
    EXPECT_NE(message.find(test_case.message), std::string::npos) << "error: " << message;
  } else {
    EXPECT_EQ(message, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Hostile,
    testing::Values(
        Case{"closures",
             lines({"g = lambda a: a", "for i in range(80000):", "    g = lambda a, g=g: g(a)", "return x"}), ""},
        Case{"lists in lists", lines({"l = []", "for i in range(80000):", "    l = [l]", "return x"}), ""},
        Case{"methods in lists", lines({"l = []", "for i in range(80000):", "    l = [l.append]", "return x"}), ""},
        Case{"sums of quotients",
             lines({"n = k", "for i in range(40):", "    n = (n + 1) // 2 + (n + 2) // 3", "return x * n"}), ""},
        Case{"many aliases", many_lines(100'000, "y = x"), ""}, Case{"many mentions", many_lines(100'000, "(x,)"), ""},
        Case{"many mentions of a view", many_lines(50'000, "z = x[0]"), ""},
        Case{"many names of one value", many_lines(30'000, "y# = x * 2"), ""},
        Case{"many statements", many_lines(60'000, "y = y + 1"), "50000 nodes"},
        Case{"many results of one value", {"def f(x): return (", 60'000, "x, ", ")\n"}, "returns 60000 tensors"},
        Case{"unknown keywords",
             {"def g(a): return a\ndef f(x): return g(x", 100'000, ", k#=1", ")\n"},
             "no parameter `k0`"},
        Case{"many parameters", {"def f(x", 6'000, ", p#", "): return x\n"}, ""},
        Case{"many parameters of a helper", {"def g(x", 60'000, ", p#=0", "): return x\ndef f(x): return g(x)\n"}, ""},
        Case{"many lambdas in an expression", {"x + sum([", 8'000, "(lambda a: a)(#), ", "])"}, ""},
        Case{"strings", lines({"s = 'a'", "for i in range(60):", "    s = s + s", "return x"}),
             "makes strings of more than"},
        Case{"lists", lines({"s = [1]", "for i in range(60):", "    s = s + s", "return x"}), "items"},
        Case{"lists in place", lines({"s = [1]", "for i in range(60):", "    s += s", "return x"}), "items"},
        Case{"repeated lists", lines({"s = [[0] * 1000000 for i in range(1000)]", "return x"}), "items"},
        Case{"a long repetition", lines({"s = (0, 1) * 9223372036854775807", "return x"}), "items"},
        Case{"powers of a size", lines({"n = 1", "for i in range(100000):", "    n = n * x.size(0)", "return x * n"}),
             "too long"},
        Case{"many chunks", lines({"return zeros_like(x).chunk(300000000)[0]"}), ""},
        Case{
            "chained extremes",
            lines({"n = k", "for i in range(3000):", "    n = min(n + i, k * (i + 2)) + n // (i + 2)", "return x * n"}),
            ""},
        Case{"a cat of many parts, squared",
             lines({"c = cat([x[:, 0] for i in range(3200)])", "return c[:, None] * c"}), "parts"},
        Case{"a large step", lines({"return x[::9223372036854775807]"}), "64 bits"},
        Case{"a large range", lines({"return x * len(range(2 ** 70))"}), "64 bits"},
        Case{"a large integer", lines({"n = 3", "for i in range(100):", "    n = n * n", "return x * n"}), "64 bits"},
        Case{"views of a large expression",
             lines({"a = x", "for i in range(4000):", "    a = a * y + i", "for i in range(20000):", "    b = a[0]",
                    "return a"}),
             "views"},
        Case{"keys of shared tuples",
             lines({"key = ()", "for i in range(60):", "    key = (key, key)", "d = {key: 1}", "return x"}), "steps"},
        Case{"many results", lines({"return [x + i for i in range(100000)]"}), "50000 nodes"},
        Case{"many closures",
             lines({"g = lambda a: a", "for i in range(250000):", "    g = lambda a, g=g: g(a)", "return x"}), "steps"},
        Case{"loops in loops",
             lines({"for i in range(1000000):", "    for j in range(1000000):", "        pass", "return x"}), "steps"}),
    test_name);

}  // namespace
}  // namespace ingot::frontend
