#pragma once

#include <c10/core/Device.h>

#include <functional>

namespace ingot::tools {

/// Returns the median time of a call in microseconds, after a few warm-up calls: with wall-clock time on the CPU, with
/// events on the current stream of a GPU. Short calls are timed in batches. `seconds`: the approximate measuring time.
double median_microseconds(const std::function<void()>& call, c10::Device device, double seconds = 0.3);

}  // namespace ingot::tools
