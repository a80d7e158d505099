#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "runtime/cache/interrupt.h"

namespace ingot::runtime {

/// Makes a value once for all threads that request it at the same time: the first computes, the others wait for its
/// result or its exception. The value is not stored afterwards. The caller publishes the value before `make` returns,
/// so that later look-ups find it; otherwise a thread that arrives in between makes the value again.
///
/// `make` may run flights of other keys, as long as no cycle of keys waits for itself. A `make` that requests its own
/// key causes an internal error, not a deadlock. A caller that holds a lock which `make` takes (the GIL, for example)
/// must release it before `run`.
///
/// Abandoned work (`Interrupted`) does not fail the waiting threads: one of them makes the value instead. A waiting
/// thread can be abandoned, too.
template <typename T>
class SingleFlight {
 public:
  std::shared_ptr<const T> run(const std::string& key, const std::function<std::shared_ptr<const T>()>& make) {
    std::unique_lock lock(mutex_);
    for (auto found = flights_.find(key); found != flights_.end(); found = flights_.find(key)) {
      const std::shared_ptr<Flight> flight = found->second;
      if (flight->maker == std::this_thread::get_id()) throw_internal("making a value requires the value itself", key);
      while (!flight->done.wait_for(lock, std::chrono::milliseconds(kInterruptMilliseconds),
                                    [&] { return flight->is_finished; }))
        throw_if_interrupted();
      if (!flight->is_abandoned) return flight->outcome();
    }
    const auto flight = std::make_shared<Flight>();
    flights_.emplace(key, flight);
    lock.unlock();
    try {
      flight->value = make();
    } catch (const Interrupted&) {
      flight->is_abandoned = true;
      flight->failure = std::current_exception();
    } catch (...) {
      flight->failure = std::current_exception();
    }
    lock.lock();
    flight->is_finished = true;
    flights_.erase(key);
    flight->done.notify_all();
    return flight->outcome();
  }

 private:
  struct Flight {
    const std::thread::id maker = std::this_thread::get_id();
    std::condition_variable done;
    bool is_finished = false;
    bool is_abandoned = false;
    std::shared_ptr<const T> value;
    std::exception_ptr failure;

    std::shared_ptr<const T> outcome() const {
      if (failure) std::rethrow_exception(failure);
      return value;
    }
  };
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace ingot::runtime
