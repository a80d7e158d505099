#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/frontend/parsing.h"

// Errors of the parser: for each source, the exact location, the message and the hint.

namespace ingot::frontend {
namespace {

struct ErrorCase {
  std::string text, location, message, help;
};

void expect_errors(const std::vector<ErrorCase>& table) {
  for (const ErrorCase& row : table) {
    SCOPED_TRACE(row.text);
    const AuthorError error = author_error_of([&] { parse_text(row.text); });
    EXPECT_EQ(error.location, row.location);
    EXPECT_EQ(error.message, row.message);
    EXPECT_EQ(error.help, row.help);
  }
}

TEST(ParserErrors, Words) {
  expect_errors({
      {"x + $", "1:5", "`$` has no meaning here", ""},
      {"x ? y : z", "1:3", "`?` has no meaning here",
       "write `a if condition else b`, or on tensors `where(condition, a, b)`"},
      {"!x", "1:1", "`!` has no meaning here", "write `not` before a number, `~` before a tensor"},
      {"x − y", "1:3", "`−` has no meaning here", "type a plain `-`"},
      {"x × 2", "1:3", "`×` has no meaning here", "type a plain `*`"},
      {"f(“a”)", "1:3", "`“` has no meaning here", "type a plain `\"`"},
      {"x + 0x", "1:5", "`0x` is not a number", "hexadecimal digits follow 0x, octal ones 0o, binary ones 0b"},
      {"x + 1_", "1:5", "`1_` is not a number", "a `_` in a number must be between two digits"},
      {"x + 1__0", "1:5", "`1__0` is not a number", "a `_` in a number must be between two digits"},
      {"x + 012", "1:5", "an integer does not begin with 0", "an octal number is written 0o17"},
      {"x + 1e", "1:5", "`1e` is not a number", "an exponent has digits, as in 1e5"},
      {"x + 3x", "1:5", "`3x` is not a number", "a name cannot begin with a digit"},
      {"x + 0b12", "1:5", "`0b12` is not a number", "hexadecimal digits follow 0x, octal ones 0o, binary ones 0b"},
      {"x + 1j", "1:5", "complex numbers are outside the language", "keep the real and imaginary parts in two values"},
      {"x + 1.5.2", "1:5", "`1.5.2` is not a number", "a number has one point"},
      {"x + 1_.5", "1:5", "`1_.5` is not a number", "a `_` in a number must be between two digits"},
      {"x + 9223372036854775808", "1:5", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20"},
      {"x - 9223372036854775809", "1:5", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20"},
      {"x + 0xffffffffffffffff", "1:5", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20"},
      {"x + 123456789012345678901234567890", "1:5", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20"},
      {"'abc", "1:1", "this string is never closed", "end it with '"},
      {"f('abc\n')", "1:3", "this string is never closed", "end it with '"},
      {"'''abc", "1:1", "this string is never closed", "end it with '''"},
      {"f(b'abc')", "1:3", "bytes are outside the language", "write the string without the `b`"},
      {"f(f'a{x}')", "1:3", "f-strings are outside the language",
       "strings are for names and error messages: write this one without the `f`"},
      {"f('\\x1')", "1:4", "`\\x` needs 2 hex digits", ""},
      {"f('\\ud800')", "1:4", "there is no such character", ""},
      {"f('\\N{DASH}')", "1:4", "characters by name are outside the language",
       "write the character itself, or \\uXXXX"},
      {"x \\ y", "1:3", "something follows the `\\`",
       "a backslash joins two lines only as the last character of the first"},
      {"x + \\", "1:5", "something follows the `\\`",
       "a backslash joins two lines only as the last character of the first"},
      {"(x + y", "1:1", "`(` is never closed", "close it with `)`"},
      {"x + y)", "1:6", "`)` closes nothing", "remove it, or open it before"},
      {"(x + y]", "1:7", "`]` does not close `(`", "close `(` before it"},
      {"f(x[1)", "1:6", "`)` does not close `[`", "close `[` before it"},
      {"[x, (y]", "1:7", "`]` does not close `(`", "close `(` before it"},
  });
}

TEST(ParserErrors, Indentation) {
  expect_errors({
      {"def f(x):\n    y = x\n  return y", "3:1", "this line's indentation matches no open block",
       "align it with the block that it belongs to"},
      {"def f(x):\n\ty = x\n        return y", "3:1",
       "tabs and spaces are mixed so that the indentation depends on the tab's width", "indent with spaces only"},
      {"def f(x):\n    y = x\n      z = y\n    return z", "3:1", "this line is indented deeper than the one before it",
       "align it; only the lines after a `:` are indented"},
      {"def f(x):\nreturn x", "2:1", "expected an indented block after the function's head",
       "indent its lines; an empty block is `pass`"},
      {"def f(x):\n    return x\n  \ny = 1\n z = 2", "5:1", "this line is indented deeper than the one before it",
       "align it; only the lines after a `:` are indented"},
      {"  def f(x): return x\ny = 1", "2:1", "this line's indentation matches no open block",
       "align it with the block that it belongs to"},
  });
}

TEST(ParserErrors, Statements) {
  expect_errors({
      {"def f(x):\n    retrun x", "2:12", "expected the end of the statement, found `x`", "did you mean `return`?"},
      {"def f(x):\n    class A: pass", "2:5", "classes are outside the language",
       "write functions; tuples and lists hold several values"},
      {"class A: pass", "1:1", "classes are outside the language",
       "write functions; tuples and lists hold several values"},
      {"def f(x):\n    with a: pass", "2:5", "`with` is outside the language",
       "write the body without it: an op has no context managers"},
      {"def f(x):\n    try:\n        pass", "2:5", "`try` is outside the language",
       "an op has no exceptions to catch: write the body without it"},
      {"def f(x):\n    global y", "2:5", "`global` is outside the language",
       "pass the value in and return the new one"},
      {"def f(x):\n    nonlocal y", "2:5", "`nonlocal` is outside the language",
       "pass the value in and return the new one"},
      {"def f(x):\n    del x", "2:5", "`del` is outside the language",
       "it is not needed for a name; for an item write xs.pop(i), d.pop(key) or xs = xs[:i] + xs[i + 1:]"},
      {"async def f(x): return x", "1:1", "`async` is outside the language", "write the function without it"},
      {"def f(x):\n    await x", "2:5", "`await` is outside the language", "call the function without it"},
      {"def f(x):\n    yield x", "2:5", "generators are outside the language",
       "collect the values in a list and return it"},
      {"def f(x):\n    y = yield x", "2:9", "generators are outside the language",
       "collect the values in a list and return it"},
      {"def f(x):\n    match x:\n        case 1: pass", "2:5", "`match` is outside the language",
       "write `if`, `elif` and `else`"},
      {"def f(x):\n    type T = int", "2:5", "`type` statements are outside the language",
       "remove it: the language has no type names"},
      {"def f(x):\n    print 'a'", "2:5", "printing is outside the language", "remove it"},
      {"def f(x):\n    else: pass", "2:5", "this `else` has no `if` before it", "indent it like its `if`"},
      {"def f(x):\n    elif x: pass", "2:5", "this `elif` has no `if` before it", "indent it like its `if`"},
      {"def f(x):\n    if x:\n        pass\n    else if y:\n        pass", "4:10",
       "expected `:` after `else`, found `if`", "write `elif`"},
      {"def f(x):\n    if x = 3: return x", "2:10", "expected `:` after the condition, found `=`", "equality is `==`"},
      {"def f(x):\n    if x\n        return x", "2:9", "expected `:` after the condition, found the end of the line",
       ""},
      {"def f(x) return x", "1:10", "expected `:` after the function's head, found `return`", ""},
      {"def f(x)\n    return x", "1:9", "expected `:` after the function's head, found the end of the line", ""},
      {"def f(x):\n    if x: if y: return x", "2:11", "`if` cannot follow a `:` on the same line",
       "put it on an indented line of its own"},
      {"def f(x):\n    for i in range(3) pass", "2:23", "expected `:` after the iterable of a `for`, found `pass`", ""},
      {"def f(x):\n    for i range(3): pass", "2:11", "expected `in` after the names of a `for`, found `range`", ""},
      {"def f(x):\n    for i in range(3): pass\n    else: pass", "3:5", "`else` after a loop is outside the language",
       "move its body after the loop, under an `if`"},
      {"def f(x):\n    while x: pass\n    else: pass", "3:5", "`else` after a loop is outside the language",
       "move its body after the loop, under an `if`"},
      {"def f(x):\n    break", "2:5", "`break` outside a loop", "move it into the body of a `for` or `while`"},
      {"def f(x):\n    if x: continue", "2:11", "`continue` outside a loop",
       "move it into the body of a `for` or `while`"},
      {"def f(x):\n    for i in x:\n        def g(y): break", "3:19", "`break` outside a loop",
       "move it into the body of a `for` or `while`"},
      {"return x", "1:1", "`return` outside a function", "indent it as the body of its `def`"},
      {"if x: pass", "1:1", "only defs, imports and assignments are allowed at the top level of a file",
       "write this inside a `def`"},
      {"for i in x: pass", "1:1", "only defs, imports and assignments are allowed at the top level of a file",
       "write this inside a `def`"},
      {"x + y\nz = 3", "1:1", "a bare expression is among the statements of a file",
       "move it into a `def`, or make it the last line of a source without defs"},
      {"def f(x): return x\nf(3)", "2:1", "a bare expression is among the statements of a file",
       "move it into a `def`, or make it the last line of a source without defs"},
      {"def f(x):\n    x + = 1", "2:9", "expected an expression, found `=`",
       "operators such as `+=` are written without a space"},
      {"def f(x):\n    x++\n    return x", "2:8", "expected an expression, found the end of the line",
       "write `x += 1`"},
      {"def f(x):\n    x = y z", "2:11", "expected the end of the statement, found `z`", ""},
      {"def f(x):\n    return x y", "2:14", "expected the end of the statement, found `y`", ""},
      {"def f(x):\n    raise", "2:5", "`raise` alone has nothing to raise again",
       "say what is wrong: `raise ValueError(\"…\")`"},
      {"def f(x):\n    raise x + y", "2:11", "only an exception can be raised", "write `raise ValueError(\"…\")`"},
      {"def f(x):\n    raise ValueError('a') from None", "2:27", "`raise … from …` is outside the language",
       "remove the `from`"},
      {"def f(x):\n    import", "2:11", "expected a module's name, found the end of the line", ""},
      {"def f(x):\n    from a import", "2:18", "expected a name to import, found the end of the line", ""},
      {"from a import (b, c", "1:15", "`(` is never closed", "close it with `)`"},
      {"import a.b.", "1:12", "expected a module's name, found the end of the line", ""},
      {"def f(x):\n    pass pass", "2:10", "expected the end of the statement, found `pass`", ""},
      {"def f(x):\n    x: int: float = 3", "2:11", "expected the end of the statement, found `:`",
       "only a name can be annotated"},
      {"def f(x):\n    float y = x", "2:11", "expected the end of the statement, found `y`", ""},
  });
}

TEST(ParserErrors, Targets) {
  expect_errors({
      {"def f(x):\n    x.y = 1", "2:5", "attributes cannot be assigned", "give the new value a name of its own"},
      {"def f(x):\n    f(x) = 1", "2:5", "a call cannot be assigned to", "equality is `==`"},
      {"def f(x):\n    3 = x", "2:5", "a constant cannot be assigned to", "equality is `==`"},
      {"def f(x):\n    x + y = 1", "2:5", "this expression cannot be assigned to",
       "equality is `==`; the left side of `=` is a name"},
      {"def f(x):\n    x == y = 1", "2:5", "a comparison cannot be assigned to", "assignment is a single `=`"},
      {"def f(x):\n    a, *b = x", "2:8", "a `*` among names to assign is outside the language",
       "take the parts by index: `first, rest = xs[0], xs[1:]`"},
      {"def f(x):\n    for *a in x: pass", "2:9", "a `*` among names to assign is outside the language",
       "take the parts by index: `first, rest = xs[0], xs[1:]`"},
      {"def f(x):\n    x, y += 1", "2:5", "`+=` assigns to a name or an item", "give the value a name first"},
      {"def f(x):\n    f(x) += 1", "2:5", "`+=` assigns to a name or an item", "give the value a name first"},
      {"def f(x):\n    x @= y", "2:7", "`@=` is outside the language", "write `x = x @ y`"},
      {"def f(x):\n    (a, b.c) = x", "2:9", "attributes cannot be assigned", "give the new value a name of its own"},
      {"def f(x):\n    None = x", "2:5", "a constant cannot be assigned to", "equality is `==`"},
      {"def f(x):\n    a = b = 3 = x", "2:13", "a constant cannot be assigned to", "equality is `==`"},
      {"def f(x):\n    x[0]: int = 3", "2:9", "expected the end of the statement, found `:`",
       "only a name can be annotated"},
      {"def f(x):\n    [i for i.j in x]", "2:12", "attributes cannot be assigned",
       "give the new value a name of its own"},
  });
}

TEST(ParserErrors, Functions) {
  expect_errors({
      {"def f(x, x): return x", "1:10", "two parameters are named `x`", "rename one of them"},
      {"def f(x=1, y): return x", "1:12", "`y` has no default, but the parameter before it has",
       "give it one, or move it before `x`"},
      {"def f(**k, x): return x", "1:12", "a parameter follows the `**` parameter", "put it before `k`"},
      {"def f(**k=1): return x", "1:10", "a `**` parameter cannot have a default",
       "it is an empty dict when nothing is given"},
      {"def f(x, /): return x", "1:10", "positional-only parameters are outside the language", "remove the `/`"},
      {"def f(*): return x", "1:7", "a `*` alone must be followed by a parameter",
       "it makes the parameters after it keyword-only: remove it"},
      {"def f(*a, *b): return a", "1:11", "a function has one `*` only", "remove this one"},
      {"def f(x, *, ): return x", "1:10", "a `*` alone must be followed by a parameter",
       "it makes the parameters after it keyword-only: remove it"},
      {"def f(*a=3): return a", "1:9", "a `*` parameter cannot have a default",
       "it is an empty tuple when nothing is given"},
      {"def 3(x): return x", "1:5", "expected the function's name after `def`, found `3`", ""},
      {"def lambda(x): return x", "1:5", "expected the function's name after `def`, found `lambda`",
       "`lambda` is a Python keyword: choose another name"},
      {"def f(x: ): return x", "1:10", "expected an expression, found `)`", ""},
      {"def f(x, 3): return x", "1:10", "expected a parameter's name, found `3`", ""},
      {"def f x: return x", "1:7", "expected `(` after the function's name, found `x`", ""},
      {"def f((a, b)): return a", "1:7", "expected a parameter's name, found `(`", ""},
      {"def f[T](x): return x", "1:6", "expected `(` after the function's name, found `[`", ""},
      {"def f(x):\n    @a\n    def g(y): return y\n    return g(x)", "2:5", "a nested def cannot have decorators",
       "remove it, or move the def to the top of the file"},
      {"@a b\ndef f(x): return x", "1:4", "a decorator must be on its own line", "begin a new line after it"},
      {"@3\ndef f(x): return x", "1:2", "a decorator is a name or a call of one", "remove it"},
      {"@a\nx = 3", "2:1", "expected a `def` after the decorators, found `x`", ""},
      {"@a\nclass B: pass", "2:1", "classes are outside the language",
       "write functions; tuples and lists hold several values"},
      {"lambda x, x: x", "1:11", "two parameters are named `x`", "rename one of them"},
      {"lambda x=1, y: x", "1:13", "`y` has no default, but the parameter before it has",
       "give it one, or move it before `x`"},
      {"lambda x return x", "1:10", "expected `:` after the parameters of a lambda, found `return`", ""},
  });
}

TEST(ParserErrors, Expressions) {
  expect_errors({
      {"x +", "1:4", "expected an expression, found the end of the line", ""},
      {"x + * y", "1:5", "expected an expression, found `*`", "`*values` unpacks into a call, a tuple or a list"},
      {"x and", "1:6", "expected an expression, found the end of the line", ""},
      {"not", "1:4", "expected an expression, found the end of the line", ""},
      {"x := 3", "1:3", "`:=` needs parentheses here", "write `(name := value)`, or assign on a line of its own"},
      {"(x[0] := 3)", "1:7", "`:=` assigns to a name only", "write `(name := value)`, or assign on a line of its own"},
      {"f(a=b := 3)", "1:7", "`:=` needs parentheses here", "write `(name := value)`, or assign on a line of its own"},
      {"{1, 2}", "1:1", "sets are outside the language", "use a tuple or a list"},
      {"{*x: 1}", "1:1", "sets are outside the language", "use a tuple or a list"},
      {"{i for i in x}", "1:1", "sets are outside the language", "use a tuple or a list"},
      {"{'a' 1}", "1:6", "expected `:` after the key of a dict, found `1`", ""},
      {"{'a': 1", "1:1", "`{` is never closed", "close it with `}`"},
      {"{'a': 1 'b'}", "1:9", "expected `,` or `}`, found a string", ""},
      {"x if y", "1:7", "expected `else` after `a if condition`, found the end of the line",
       "a conditional expression needs both values"},
      {"x if y else", "1:12", "expected an expression, found the end of the line", ""},
      {"f(x=1, y)", "1:8", "a positional argument follows a keyword argument",
       "name it too, or put it before the `x=`"},
      {"f(x=1, x=2)", "1:8", "`x` is given twice", "keep one of them"},
      {"f(**k, x)", "1:8", "a positional argument follows a keyword argument",
       "name it too, or put it before the `**`"},
      {"f(**k, *x)", "1:8", "a positional argument follows a keyword argument",
       "name it too, or put it before the `**`"},
      {"f(x y)", "1:5", "expected `,` or `)`, found `y`", ""},
      {"f(x, y=)", "1:8", "expected an expression, found `)`", ""},
      {"f(a for a in x, b)", "1:3", "a generator among other arguments needs parentheses",
       "write `f(a, (x for x in xs))`"},
      {"x[]", "1:2", "an index is missing", "write `x[0]` or `x[:]`"},
      {"x[*y]", "1:3", "`*` in an index is outside the language", "write the indices out"},
      {"x[1:2:3:4]", "1:8", "expected `,` or `]`, found `:`", ""},
      {"x.", "1:3", "expected the name of an attribute after `.`, found the end of the line", ""},
      {"x.3", "1:2", "expected the end of the statement, found `.3`", ""},
      {"x.class", "1:3", "expected the name of an attribute after `.`, found `class`",
       "`class` is a Python keyword: choose another name"},
      {"[1, 2", "1:1", "`[` is never closed", "close it with `]`"},
      {"(*x)", "1:2", "a `*` unpacks only into a call, a tuple or a list", "write `(*values,)` for a tuple of them"},
      {"*x", "1:1", "a `*` unpacks only into a call, a tuple or a list", "write `(*values,)` for a tuple of them"},
      {"[*x for x in y]", "1:2", "a comprehension's element cannot be unpacked", "add a `for` over its items"},
      {"[x for]", "1:7", "expected an expression, found `]`", ""},
      {"[x for x y]", "1:10", "expected `in` after the names of a `for`, found `y`", ""},
      {"[x async for x in y]", "1:4", "`async` is outside the language", "write the function without it"},
      {"x && y", "1:4", "expected an expression, found `&`", "write `and` between numbers, `&` between tensors"},
      {"x || y", "1:4", "expected an expression, found `|`", "write `or` between numbers, `|` between tensors"},
      {"x // ", "1:6", "expected an expression, found the end of the line", ""},
      {"// comment\nx", "1:1", "expected an expression, found `//`", "a comment begins with `#`"},
      {"x <> y", "1:4", "expected an expression, found `>`", "write `!=`"},
      {"x = = y", "1:5", "expected an expression, found `=`", "equality is `==`"},
      {"a b", "1:3", "expected the end of the statement, found `b`", ""},
      {"x not y", "1:3", "expected the end of the statement, found `not`", ""},
      {"x is is y", "1:6", "expected an expression, found `is`", "`is` is a Python keyword, not a value"},
      {"f(x))", "1:5", "`)` closes nothing", "remove it, or open it before"},
      {"lambda: (yield)", "1:10", "generators are outside the language", "collect the values in a list and return it"},
      {"if", "1:3", "expected an expression, found the end of the line", ""},
      {"x; y", "1:1", "a bare expression is among the statements of a file",
       "move it into a `def`, or make it the last line of a source without defs"},
      {"def", "1:4", "expected the function's name after `def`, found the end of the line", ""},
      {"x,,y", "1:3", "expected an expression, found `,`", ""},
      {"f(,)", "1:3", "expected an expression, found `,`", ""},
      {"f(x,,y)", "1:5", "expected an expression, found `,`", ""},
      {"x[1,,2]", "1:5", "expected an expression, found `,`", ""},
  });
}

TEST(ParserErrors, SourcesWithoutAnOp) {
  expect_errors({
      {"", "1:1", "the source defines no op", "write `def name(x, y): return x + y`, or an expression alone"},
      {"   \n\n# only a comment\n", "4:1", "the source defines no op",
       "write `def name(x, y): return x + y`, or an expression alone"},
      {"EPS = 1", "1:8", "the source defines no op", "write `def name(x, y): return x + y`, or an expression alone"},
      {"import torch", "1:13", "the source defines no op",
       "write `def name(x, y): return x + y`, or an expression alone"},
      {"'a docstring'", "1:14", "the source defines no op",
       "write `def name(x, y): return x + y`, or an expression alone"},
  });
}

TEST(ParserErrors, InvalidCharacters) {
  using std::string_literals::operator""s;
  expect_errors({
      {"a\0b"s, "1:2", "the source has a NUL byte", "an op is read from plain text"},
      {"a\x01z", "1:2", "`\\x01` has no meaning here", ""},
      {"x +\u00a0y", "1:4", "`\u00a0` has no meaning here", "it looks like a blank: type a plain space"},
      {"x + \xff", "1:5", "the source is not UTF-8", "save the file as UTF-8"},
      {"def f(x, ｘ): return x", "1:10", "Python replaces this character of a name by another one",
       "write the name in plain letters"},
      {"ℝ + x", "1:1", "Python replaces this character of a name by another one", "write the name in plain letters"},
      {"e\u0301 + x", "1:2", "Python replaces this character of a name by another one",
       "write the name in plain letters"},
      {"é + \xc3", "1:5", "the source is not UTF-8", "save the file as UTF-8"},
      {"é + \xed\xa0\x80", "1:5", "the source is not UTF-8", "save the file as UTF-8"},
  });
}

TEST(ParserErrors, ColumnsCountCharacters) {
  expect_errors({{"größe + größe $", "1:15", "`$` has no meaning here", ""},
                 {"f('日本語') )", "1:10", "`)` closes nothing", "remove it, or open it before"}});
}

TEST(ParserErrors, NotePointsAtTheOpenBracket) {
  const AuthorError error = author_error_of([] { parse_text("def f(x):\n    y = (x +\n         1 2)\n    return y"); });
  EXPECT_EQ(error.location, "3:12");
  EXPECT_EQ(error.rendered,
            "error: expected `,` or `)`, found `2`\n"
            " --> <text>:3:12\n"
            "  |\n"
            "3 |          1 2)\n"
            "  |            ^\n"
            "note: `(` was opened here\n"
            " --> <text>:2:9\n"
            "  |\n"
            "2 |     y = (x +\n"
            "  |         ^");
}

TEST(ParserErrors, SourceNestedTooDeeply) {
  const int many = 10'000;
  auto repeated = [](const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  };
  const std::string brackets = "the brackets are nested more than 200 deep";
  const std::string expressions = "the expressions are nested too deeply";
  const std::vector<std::pair<std::string, std::string>> table = {
      {repeated("(", many) + "x" + repeated(")", many), brackets},
      {repeated("[", many), brackets},
      {repeated("x[", many), brackets},
      {repeated("-", many) + "x", expressions},
      {repeated("not ", many) + "x", expressions},
      {repeated("x if y else ", many) + "x", expressions},
      {"x" + repeated(" ** x", many), expressions},
      {repeated("lambda: ", many) + "x", expressions},
  };
  for (const auto& [text, message] : table) {
    const AuthorError error = author_error_of([&, &source = text] { parse_text(source); });
    EXPECT_EQ(error.message, message) << text.substr(0, 20);
  }
  std::string blocks = "def f(x):\n";
  for (size_t depth = 1; depth < 200; ++depth) blocks += std::string(depth, ' ') + "if x:\n";
  EXPECT_EQ(author_error_of([&] { parse_text(blocks); }).message, "the blocks are nested too deeply");
  EXPECT_NO_THROW(parse_text(repeated("(", 200) + "x" + repeated(")", 200)));
}

}  // namespace
}  // namespace ingot::frontend
