#pragma once

#include <cstddef>
#include <functional>

namespace ingot {

/// Mixes the hash of one more field into `seed`. Use the result only in tables in memory: a key that outlives the
/// process must not depend on std::hash.
template <typename T>
void hash_combine(size_t& seed, const T& value) {
  seed ^= std::hash<T>{}(value) + 0x9e3779b97f4a7c15ULL + (seed << 12) + (seed >> 4);
}

template <typename Range>
void hash_range(size_t& seed, const Range& range) {
  hash_combine(seed, std::size(range));
  for (const auto& value : range) hash_combine(seed, value);
}

}  // namespace ingot
