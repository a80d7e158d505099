#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "frontend/syntax/ast_print.h"
#include "tests/frontend/parsing.h"

// Parsing any text ends with a tree or with an error of Fault::Author, and never crashes.

namespace ingot::frontend {
namespace {

const std::string kProgram =
    "\"\"\"doc\"\"\"\n"
    "import torch as t\n"
    "K = [1, 0x1f, 2.5e-3]\n"
    "@op(a=1)\n"
    "def f(x, *ys, größe: float = 1e-7):\n"
    "    \"\"\"doc\"\"\"\n"
    "    lt, (rb, q) = x[..., :2], (y[0, ::-1, None], 'a\\x41\\u00e9')\n"
    "    z = [a * b ** -c for a, b in zip(x, y) if a if not b]  # why\n"
    "    for i in range(3):\n"
    "        z.append(i); pass\n"
    "        if i < 1 <= 2 and z is not None or ~i: continue\n"
    "        elif i in z:\n"
    "            x[0] += 1; break\n"
    "        else:\n"
    "            w: int = \\\n"
    "                3\n"
    "    assert x, f'no {x}'\n"
    "    return (lambda q, r=1: q if r else -q)(*z, dim=-1)\n";

void expect_tree_or_author_error(const std::string& text) {
  try {
    print(parse_text(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Author) << error.what() << "\n" << text;
  }
}

TEST(ParserFuzz, ParsesTheUnchangedProgram) { EXPECT_NO_THROW(parse_text(kProgram)); }

TEST(ParserFuzz, EveryTruncation) {
  for (size_t size = 0; size <= kProgram.size(); ++size) expect_tree_or_author_error(kProgram.substr(0, size));
  for (size_t begin = 0; begin <= kProgram.size(); ++begin) expect_tree_or_author_error(kProgram.substr(begin));
}

TEST(ParserFuzz, EveryDeletedByte) {
  for (size_t i = 0; i < kProgram.size(); ++i)
    expect_tree_or_author_error(kProgram.substr(0, i) + kProgram.substr(i + 1));
}

TEST(ParserFuzz, RandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& c : text) c = static_cast<char>(random());
    expect_tree_or_author_error(text);
  }
}

TEST(ParserFuzz, RandomChanges) {
  std::mt19937 random(2);
  const std::string syntax_characters = "()[]{}:,.=+-*/%&|^~<>@!'\"\\#\n\t 01eEjxf_;";
  for (int round = 0; round < 5000; ++round) {
    std::string text = kProgram;
    for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t position = random() % text.size();
      const char change = syntax_characters[random() % syntax_characters.size()];
      if (random() % 2 != 0) {
        text[position] = change;
      } else {
        text.insert(position, 1, change);
      }
    }
    expect_tree_or_author_error(text);
  }
}

TEST(ParserFuzz, RandomWords) {
  std::mt19937 random(3);
  const std::vector<std::string> words = {"def ",   "f",       "(",       ")",      "x",       ":",     "\n",
                                          "    ",   "return ", "if ",     "else ",  "elif ",   "for ",  "in ",
                                          "while ", "lambda ", "*",       "**",     "=",       "==",    "<",
                                          "not ",   "and ",    "is ",     "[",      "]",       ",",     ".",
                                          "...",    "1",       "2.5",     "'s'",    "import ", "from ", "as ",
                                          "pass",   "raise ",  "assert ", "@",      "-",       "+",     "~",
                                          ":=",     "class ",  "yield ",  "await ", "async ",  "\\\n",  ";"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t count = random() % 24; count > 0; --count) text += words[random() % words.size()];
    expect_tree_or_author_error(text);
  }
}

}  // namespace
}  // namespace ingot::frontend
