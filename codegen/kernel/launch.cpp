#include "codegen/kernel/launch.h"

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

}  // namespace ingot::codegen
