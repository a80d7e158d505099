#pragma once

#include <c10/core/Device.h>

#include <functional>

namespace ingot::tools {

/// Returns the median time of a call in microseconds, after a few warm-up calls: by the clock on the CPU, by events on
/// the current stream of a GPU. Short calls are timed several at once. `seconds` is the approximate duration.
double median_microseconds(const std::function<void()>& call, c10::Device device, double seconds = 0.3);

}  // namespace ingot::tools
