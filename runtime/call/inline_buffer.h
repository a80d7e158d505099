#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace ingot::runtime {

/// `size` plain values, not initialised: on the stack up to N of them, else on the heap.
template <typename T, size_t N>
class InlineBuffer {
 public:
  explicit InlineBuffer(size_t size)
      : size_(size),
        heap_(size > N ? std::make_unique_for_overwrite<T[]>(size) : nullptr),
        data_(heap_ ? heap_.get() : stack_) {}
  InlineBuffer(const InlineBuffer&) = delete;
  InlineBuffer& operator=(const InlineBuffer&) = delete;

  T* data() { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  operator std::span<T>() { return {data_, size_}; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  size_t size_;
  std::unique_ptr<T[]> heap_;
  T* data_;
  alignas(16) T stack_[N];
};

}  // namespace ingot::runtime
