#pragma once

#include <string>
#include <string_view>

namespace ingot::runtime {

/// A shared library loaded from its bytes, not from a file: HostCompiler's output, or a record's. The destructor
/// unloads it.
class SharedObject {
 public:
  /// `name` is for messages. Errors: Error(Environment), with the loader's message.
  SharedObject(std::string_view bytes, std::string name);
  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  /// Returns the address of an `extern "C"` function. Never null; an unknown name is an internal error.
  void* symbol(const std::string& entry) const;
  template <typename Function>
  Function* function(const std::string& entry) const {
    return reinterpret_cast<Function*>(symbol(entry));
  }

 private:
  void* handle_;
  std::string name_;
};

}  // namespace ingot::runtime
