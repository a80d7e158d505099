#include "runtime/compile/shared_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/compile/temporary_folder.h"

namespace ingot::runtime {

namespace {

std::string loader_error() {
  const char* error = ::dlerror();
  return error ? error : "the loader gives no reason";
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

/// Returns a new path to the descriptor's file, which no earlier call has returned. The loader identifies a library by
/// its path, and descriptors are reused; keeping descriptors open would cost one for each kernel. The path therefore
/// encodes a running number in binary, with two path parts that have no effect: "./" and "/".
std::string path_of(int descriptor) {
  static std::atomic<uint64_t> count = 0;
  std::string path = "/proc/self/fd/";
  for (uint64_t number = count++; number != 0; number >>= 1) path += number & 1 ? "./" : "/";
  return path + std::to_string(descriptor);
}

/// Opens a library from memory, so that neither a full disk nor a `noexec` mount interferes; null if that is not
/// possible.
void* open_in_memory(std::string_view bytes) {
  const int descriptor = ::memfd_create("ingot", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* handle = nullptr;
  if (write_all(descriptor, bytes)) handle = ::dlopen(path_of(descriptor).c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(descriptor);
  return handle;
}

void* open_from_file(std::string_view bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "kernel.so";
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

SharedObject::SharedObject(std::string_view bytes, std::string name)
    : handle_(open_in_memory(bytes)), name_(std::move(name)) {
  if (!handle_) handle_ = open_from_file(bytes);
  if (!handle_) throw_environment("the system cannot load the compiled " + name_, loader_error());
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

SharedObject::~SharedObject() {
  if (!handle_) return;
  const ForkGuard guard;  // the loader has a lock
  ::dlclose(handle_);
}

void* SharedObject::symbol(const std::string& entry) const {
  void* address = ::dlsym(handle_, entry.c_str());
  if (!address) throw_internal("the compiled " + name_ + " has no function " + entry, loader_error());
  return address;
}

}  // namespace ingot::runtime
