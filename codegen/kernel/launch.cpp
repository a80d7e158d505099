#include "codegen/kernel/launch.h"

#include <algorithm>

namespace ingot::codegen {

int64_t count(const std::vector<GridFactor>& factors, const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const GridFactor& factor : factors) {
    int64_t elements = 1;
    for (uint32_t d = 0; d < factor.axes; ++d) elements *= extents[factor.first + d];
    count *= (elements + factor.step - 1) / factor.step * factor.times;
  }
  return count;
}

int64_t LaunchInfo::units(const std::vector<int64_t>& extents) const { return count(grid, extents); }

int64_t LaunchInfo::shared_bytes(const std::vector<int64_t>& extents) const {
  if (shared.bytes == 0) return 0;
  return std::max<int64_t>(0, count(shared.needed, extents) - shared.first) * shared.bytes;
}

}  // namespace ingot::codegen
