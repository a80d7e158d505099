#pragma once

namespace ingot::runtime {

/// For as long as one lives, a fork of the process waits. A child has only the thread that forked: what another was in
/// the middle of (a mutex held, a flight that others wait for, an initialiser) would stay so in it for ever. So all
/// that takes a lock or makes something lives under one of these, and a child finds everything at rest. They nest; a
/// thread that forks under its own waits only for the others'.
class HoldForks {
 public:
  HoldForks();
  ~HoldForks();
  HoldForks(const HoldForks&) = delete;
  HoldForks& operator=(const HoldForks&) = delete;
};

}  // namespace ingot::runtime
