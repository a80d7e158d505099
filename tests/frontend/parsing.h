#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "frontend/syntax/parser.h"

namespace ingot::frontend {

/// An error of Fault::Author, divided into the parts of its text.
struct AuthorError {
  std::string location;  ///< "2:5", line and column in <text>; empty if the error has no location
  std::string message, help, rendered;
};

/// The error that `action` throws; fails the test if there is none.
template <typename Action>
AuthorError author_error_of(Action&& action) {
  auto rest_of_line = [](const std::string& text, const std::string& mark) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) return std::string();
    const size_t begin = at + mark.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Author) << error.what();
    const std::string rendered = error.what();
    return {rest_of_line(rendered, "--> <text>:"), error.message(), rest_of_line(rendered, " = help: "), rendered};
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

inline ast::Module parse_text(std::string text, const IsKnownName& is_known = {}) {
  return parse(std::make_shared<const Source>("<text>", std::move(text)), is_known);
}

}  // namespace ingot::frontend
