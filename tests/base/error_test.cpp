#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

#include "base/source.h"

namespace ingot {
namespace {

Span span_of(const Source& source, const std::string& text) {
  const auto at = static_cast<uint32_t>(source.text().find(text));
  return {&source, at, at + static_cast<uint32_t>(text.size())};
}

TEST(Source, CountsLinesAndCharactersFromOne) {
  const Source source("f.py", "a\r\nbé = x\rc\n");
  const auto at = [&](const std::string& text) {
    const Source::Position position = source.position(span_of(source, text).begin);
    return std::to_string(position.line) + ":" + std::to_string(position.column);
  };
  EXPECT_EQ(at("a"), "1:1");
  EXPECT_EQ(at("="), "2:4");
  EXPECT_EQ(at("c"), "3:1");
  EXPECT_EQ(source.position(1000).line, 4u);  // a position past the end is clamped to the end
  EXPECT_EQ(source.line(1), "a");
  EXPECT_EQ(source.line(2), "bé = x");
  EXPECT_EQ(source.line(3), "c");
  EXPECT_EQ(source.line(4), "");
  EXPECT_EQ(source.line(0), "");
  EXPECT_EQ(source.line(99), "");
}

TEST(Source, MapsARangeToItsOriginalLocation) {
  const Source source("<op>", "def g(x):\n    return x\ndef f(x):\n    return g(x)\n",
                      {{1, "helpers.py", 41, 4}, {3, "model.py", 7, 0}});
  const auto at = [&](const std::string& text) {
    const Source::Location place = source.location(span_of(source, text).begin);
    return std::string(place.name) + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  };
  EXPECT_EQ(at("return x"), "helpers.py:42:9");
  EXPECT_EQ(at("g(x)\n"), "model.py:8:12");
}

TEST(Span, JoinsToTheSmallestThatCoversBoth) {
  const Source source("<text>", "one two three");
  const Span one = span_of(source, "one"), three = span_of(source, "three");
  EXPECT_EQ(Span::join(three, one).text(), "one two three");
  EXPECT_EQ(Span::join(one, {}), one);
  EXPECT_EQ(Span::join({}, one), one);
  EXPECT_FALSE(Span());
  EXPECT_EQ(Span().text(), "");
  const Source other("other", "x");
  EXPECT_THROW(Span::join(one, span_of(other, "x")), Error);
}

TEST(Diagnostic, ShowsTheLineWithCarets) {
  const Source source("op.py", "def f(x):\n\treturn größe + y\n");
  const Diagnostic diagnostic{"unknown name `größe`", span_of(source, "größe"), "did you mean `große`?", {}};
  EXPECT_EQ(diagnostic.render(),
            "error: unknown name `größe`\n"
            " --> op.py:2:9\n"
            "  |\n"
            "2 | \treturn größe + y\n"
            "  | \t       ^^^^^\n"
            "  = help: did you mean `große`?");
}

TEST(Diagnostic, AlignsNotesInOneGutter) {
  const Source source("op.py", "f(x)" + std::string(9, '\n') + "g(x)");
  const Diagnostic diagnostic{"bad", span_of(source, "g(x)"), {}, {{"in `f`, called here", span_of(source, "f(x)")}}};
  EXPECT_EQ(diagnostic.render(),
            "error: bad\n"
            "  --> op.py:10:1\n"
            "   |\n"
            "10 | g(x)\n"
            "   | ^^^^\n"
            "note: in `f`, called here\n"
            "  --> op.py:1:1\n"
            "   |\n"
            " 1 | f(x)\n"
            "   | ^^^^");
}

TEST(Diagnostic, MarksASpanAtTheEndOfALine) {
  const Source source("<text>", "x +\ny");
  const Diagnostic diagnostic{"bad", {&source, 3, 3}, {}, {}};
  EXPECT_EQ(diagnostic.render(), "error: bad\n --> <text>:1:4\n  |\n1 | x +\n  |    ^");
}

TEST(Diagnostic, MarksTheFirstLineOfASpan) {
  const Source source("<text>", "f(a,\n  b)");
  const Diagnostic diagnostic{"bad", {&source, 0, 9}, {}, {}};
  EXPECT_EQ(diagnostic.render(), "error: bad\n --> <text>:1:1\n  |\n1 | f(a,\n  | ^^^^");
}

TEST(Diagnostic, ShowsAShortPrintableExcerpt) {
  const Source source("<text>", std::string(5000, 'x') + "\x1b[0m\xff" + std::string(5000, 'y'));
  const std::string rendered = Diagnostic{"bad", {&source, 5000, 5001}, {}, {}}.render();
  EXPECT_LT(rendered.size(), 500u);
  EXPECT_EQ(rendered.find('\x1b'), std::string::npos);
  EXPECT_EQ(rendered.find('\xff'), std::string::npos);
  EXPECT_NE(rendered.find("<text>:1:5001"), std::string::npos);
  // The caret is under its character, after the ellipsis.
  const size_t line = rendered.find("1 | …"), carets = rendered.find("  | ", line + 1);
  EXPECT_EQ(rendered.substr(carets), "  | " + std::string(1 + 40, ' ') + "^");
}

TEST(Diagnostic, RendersWithoutALocation) {
  const Diagnostic diagnostic{"bad", {}, "be good", {}};
  EXPECT_EQ(diagnostic.render(), "error: bad\n  = help: be good");
}

template <typename Action>
Error thrown_by(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Fault::Internal, "nothing was thrown", "");
}

TEST(Error, HasAFaultAndAMessage) {
  const Error author = thrown_by([] { throw_author({}, "bad text", "write good text"); });
  EXPECT_EQ(author.fault(), Fault::Author);
  EXPECT_EQ(author.message(), "bad text");
  const Error environment = thrown_by([] { throw_environment("no compiler", "sh: c++: not found"); });
  EXPECT_EQ(environment.fault(), Fault::Environment);
  EXPECT_STREQ(environment.what(), "error: no compiler\nsh: c++: not found");
  const Error internal = thrown_by([] { throw_internal("a broken node", "dump"); });
  EXPECT_EQ(internal.fault(), Fault::Internal);
  EXPECT_TRUE(std::string(internal.what()).starts_with("internal error: a broken node\n"));
  EXPECT_TRUE(std::string(internal.what()).ends_with("\ndump"));
  const Error nul = thrown_by([] { throw_author({}, std::string("a\0b", 3), "leave it out"); });
  EXPECT_EQ(nul.message(), "a\\0b");
  EXPECT_STREQ(nul.what(), "error: a\\0b\n  = help: leave it out");
}

TEST(Numbered, NumbersLinesFromOneAlignedAtTheRight) {
  EXPECT_EQ(numbered("a\n\nb"), "1 | a\n2 | \n3 | b\n");
  EXPECT_EQ(numbered("a\n"), "1 | a\n");
  EXPECT_EQ(numbered(""), "");
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += "x\n";
  EXPECT_TRUE(numbered(ten).starts_with(" 1 | x\n"));
  EXPECT_TRUE(numbered(ten).ends_with("10 | x\n"));
}

}  // namespace
}  // namespace ingot
