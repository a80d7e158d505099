#pragma once

namespace ingot {

/// How many random cases a test draws: a quarter under the address sanitizer, where each takes several times as long.
constexpr unsigned rounds(unsigned cases) {
#ifdef __SANITIZE_ADDRESS__
  return cases / 4;
#else
  return cases;
#endif
}

}  // namespace ingot
