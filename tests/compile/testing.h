#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/error.h"
#include "tests/scratch.h"

namespace ingot::runtime {

/// Returns the text of the environment error that `body` throws; empty, and a test failure, if it throws none.
inline std::string environment_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Environment) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// Prints the result of `body`, or the error that it throws, and ends the process. For EXPECT_EXIT, which starts a new
/// process, in which no compiler was found and no library was opened yet.
[[noreturn]] inline void print_and_exit(const std::function<std::string()>& body) {
  std::string text;
  try {
    text = body();
  } catch (const Error& error) {
    text = error.what();
  }
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  Scratch::remove_all();
  std::_Exit(0);
}

/// A test whose EXPECT_EXIT runs in a newly started process, not in a fork of this one.
class NewProcess : public testing::Test {
 protected:
  NewProcess() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

}  // namespace ingot::runtime
