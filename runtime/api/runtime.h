#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/cache/store.h"
#include "runtime/records/kernel_cache.h"

namespace ingot::runtime {

/// The counts behind `ingot::counters()`.
struct AtomicCounters {
  std::atomic<uint64_t> lowerings = 0, plans = 0, compiles = 0, disk_hits = 0, launches = 0, allocations = 0, loads = 0,
                        eager_fallbacks = 0;

  static void add(std::atomic<uint64_t>& count, uint64_t by = 1) { count.fetch_add(by, std::memory_order_relaxed); }
};

/// The state that all ops of a process share.
struct Runtime {
  explicit Runtime(Store records = Store::from_environment()) : store(std::move(records)) {}

  Store store;
  AtomicCounters counters;
  KernelCache kernels{store, counters};
};

/// The runtime of the public interfaces. This runtime is never destroyed: kernels may run until the process ends.
Runtime& default_runtime();

/// Identifies this build of Ingot in the keys of records, so that no other build reads them.
const std::string& build_identity();

}  // namespace ingot::runtime
