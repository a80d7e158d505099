#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>

// Memory in which an access outside a tensor ends the test.

namespace ingot::codegen {

/// Memory between two pages without access, so that reading past either end of a tensor ends the test. The destructor
/// checks that the unused part of its own pages was not written.
class Guarded {
 public:
  /// `at_end`: the last byte is before the guard page; otherwise the first byte is after the other guard page.
  Guarded(size_t bytes, bool at_end) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes + page - 1) / page * page;
    total_ = inside + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::byte* const first = base_ + page;
    data_ = first + (at_end ? inside - bytes : 0);
    if (inside == 0) return;
    mprotect(first, inside, PROT_READ | PROT_WRITE);
    rest_ = at_end ? std::span(first, data_) : std::span(data_ + bytes, first + inside);
    std::ranges::fill(rest_, kUntouched);
  }
  ~Guarded() {
    EXPECT_TRUE(std::ranges::all_of(rest_, [](std::byte byte) { return byte == kUntouched; }))
        << "memory outside a tensor was overwritten";
    munmap(base_, total_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() const { return data_; }

 private:
  static constexpr std::byte kUntouched{0xa5};

  std::byte *base_ = nullptr, *data_ = nullptr;
  std::span<std::byte> rest_;
  size_t total_ = 0;
};

}  // namespace ingot::codegen
