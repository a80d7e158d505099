#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/error.h"
#include "tests/scratch.h"

namespace ingot::runtime {

/// The text of the environment's error that `body` throws; empty, and a failure, if it does not.
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

/// Prints what `body` returns, or the error that it throws, and ends the process: for EXPECT_EXIT, which begins a new
/// one where nothing was found or opened yet.
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

class NewProcess : public testing::Test {
 protected:
  NewProcess() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

}  // namespace ingot::runtime
