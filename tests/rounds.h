#pragma once

namespace ingot {

/// How many random cases a test draws: a quarter under a sanitizer, where each takes several times as long.
constexpr unsigned rounds(unsigned cases) {
#ifdef INGOT_SANITIZED
  return cases / 4;
#else
  return cases;
#endif
}

}  // namespace ingot
