#include "runtime/cache/single_flight.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

namespace ingot::runtime {
namespace {

std::shared_ptr<const int> number(int value) { return std::make_shared<const int>(value); }

/// Waits, up to ten seconds, until the condition is true. Returns whether it is.
bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

/// Calls `flights.run(key, make)` in several threads at once, with `make` delayed until all of them have requested the
/// value. Each thread passes `observe` a function that makes the request.
template <typename Observe>
void request_together(SingleFlight<int>& flights, int threads, const std::function<std::shared_ptr<const int>()>& make,
                      Observe observe) {
  std::atomic<int> requested = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      ++requested;
      observe([&] {
        return flights.run("key", [&] {
          eventually([&] { return requested == threads; });
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time from "requested" to waiting inside
          return make();
        });
      });
    });
  }
  for (std::thread& thread : all) thread.join();
}

TEST(SingleFlight, MakesAValueOnceForSeveralRequests) {
  SingleFlight<int> flights;
  std::atomic<int> made = 0, correct = 0;
  request_together(
      flights, 8, [&] { return number(++made); },
      [&](const auto& request) {
        if (*request() == 1) ++correct;
      });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(correct, 8);
}

TEST(SingleFlight, LetsAWaitingThreadReplaceAnInterruptedMaker) {
  SingleFlight<int> flights;
  std::atomic<int> tries = 0, correct = 0, interrupted = 0;
  request_together(
      flights, 4,
      [&]() -> std::shared_ptr<const int> {
        if (++tries == 1) throw Interrupted();
        return number(7);
      },
      [&](const auto& request) {
        try {
          if (*request() == 7) ++correct;
        } catch (const Interrupted&) {
          ++interrupted;
        }
      });
  EXPECT_EQ(correct, 3);
  EXPECT_EQ(interrupted, 1);
}

TEST(SingleFlight, InterruptsAWaitingThread) {
  SingleFlight<int> flights;
  std::atomic<bool> begun = false, release = false;
  std::thread maker([&] {
    flights.run("key", [&] {
      begun = true;
      eventually([&] { return release.load(); });
      return number(1);
    });
  });
  eventually([&] { return begun.load(); });
  const std::atomic<bool> is_abandoned = true;
  const SharedInterrupt shared(&is_abandoned);
  EXPECT_THROW(flights.run("key", [] { return number(2); }), Interrupted);
  release = true;
  maker.join();
}

TEST(SingleFlight, ThrowsToAllThreadsAndRetriesInTheNextCall) {
  SingleFlight<int> flights;
  std::atomic<int> made = 0, caught = 0;
  // All threads receive one exception. The exception is kept until all threads have ended: the thread sanitizer does
  // not see libstdc++'s reference counts, and would report its destruction in the last thread as a race with the other
  // threads' reads.
  std::array<std::exception_ptr, 8> exceptions;
  request_together(
      flights, 8,
      [&]() -> std::shared_ptr<const int> {
        ++made;
        throw std::runtime_error("refused");
      },
      [&](const auto& request) {
        try {
          request();
        } catch (const std::runtime_error& error) {
          if (error.what() == std::string("refused")) exceptions[caught++] = std::current_exception();
        }
      });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(caught, 8);
  EXPECT_EQ(*flights.run("key", [] { return number(5); }), 5);
}

TEST(SingleFlight, StoresNothing) {
  SingleFlight<int> flights;
  EXPECT_EQ(*flights.run("key", [] { return number(1); }), 1);
  EXPECT_EQ(*flights.run("key", [] { return number(2); }), 2);
}

TEST(SingleFlight, DoesNotDelayOtherKeys) {
  SingleFlight<int> flights;
  std::atomic<bool> inside = false, release = false;
  std::thread slow([&] {
    flights.run("slow", [&] {
      inside = true;
      eventually([&] { return release.load(); });
      return number(1);
    });
  });
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_EQ(*flights.run("quick", [] { return number(2); }), 2);
  release = true;
  slow.join();
}

TEST(SingleFlight, AllowsNestedFlightsOfDifferentKeys) {
  SingleFlight<int> flights;
  const auto outer = flights.run("outer", [&] { return flights.run("inner", [] { return number(3); }); });
  EXPECT_EQ(*outer, 3);
  EXPECT_THROW(flights.run("same", [&] { return flights.run("same", [] { return number(4); }); }), Error);
  EXPECT_EQ(*flights.run("same", [] { return number(5); }), 5);
}

}  // namespace
}  // namespace ingot::runtime
