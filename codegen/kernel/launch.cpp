#include "codegen/kernel/launch.h"

namespace ingot::codegen {

int64_t LaunchInfo::units(const std::vector<int64_t>& extents) const {
  int64_t units = 1;
  for (const GridFactor& factor : grid) {
    int64_t elements = 1;
    for (uint32_t d = 0; d < factor.axes; ++d) elements *= extents[factor.first + d];
    units *= (elements + factor.step - 1) / factor.step;
  }
  return units;
}

}  // namespace ingot::codegen
