#pragma once

namespace ingot {

/// The number of random cases that a test runs: `cases`, or a quarter of them under a sanitizer, where each case takes
/// several times as long.
constexpr unsigned case_count(unsigned cases) {
#ifdef INGOT_SANITIZED
  return cases / 4;
#else
  return cases;
#endif
}

}  // namespace ingot
