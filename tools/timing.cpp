#include "tools/timing.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace ingot::tools {

namespace {

constexpr int kWarmUp = 3;
constexpr double kMinMicroseconds = 100;  ///< the shortest measurement, which may contain many calls

double clock_microseconds(const std::function<void()>& call, int calls) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
}

double event_microseconds(const std::function<void()>& call, c10::Device device, int calls) {
  c10::impl::VirtualGuardImpl guard(device.type());
  c10::Event begin(device.type(), c10::EventFlag::BACKEND_DEFAULT), end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  c10::Stream stream = guard.getStream(device);
  begin.record(stream);
  for (int i = 0; i < calls; ++i) call();
  end.record(stream);
  end.synchronize();
  return begin.elapsedTime(end) * 1e3 / calls;
}

}  // namespace

double median_microseconds(const std::function<void()>& call, c10::Device device, double seconds) {
  auto measure = [&](int calls) {
    return device.is_cpu() ? clock_microseconds(call, calls) : event_microseconds(call, device, calls);
  };
  double estimate = 0;
  for (int i = 0; i < kWarmUp; ++i) estimate = measure(1);
  int calls = std::clamp(static_cast<int>(kMinMicroseconds / std::max(estimate, 0.1)), 1, 1000);
  int samples = std::clamp(static_cast<int>(seconds * 1e6 / (calls * std::max(estimate, 0.1))), 5, 200);
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) times.push_back(measure(calls));
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[static_cast<size_t>(samples) / 2];
}

}  // namespace ingot::tools
