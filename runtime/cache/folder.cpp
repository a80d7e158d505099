#include "runtime/cache/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>

namespace ingot::runtime {

namespace {

constexpr int64_t kRenewAfterSeconds = 24 * 60 * 60;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  /// Closes the file and returns the error: some file systems report failed writes only here.
  int close() { return ::close(std::exchange(value_, -1)) == 0 ? 0 : errno; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

/// Repeats a call that a signal interrupted.
template <typename Call>
auto retry_on_signal(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Returns why another user may own or change the file or folder; empty if none may.
std::string why_not_private(const struct stat& status) {
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if (status.st_mode & (S_IWGRP | S_IWOTH)) {
    char text[80];
    std::snprintf(text, sizeof text, "others may write to it (mode %04o)",
                  static_cast<unsigned>(status.st_mode & 07777));
    return text;
  }
  return {};
}

std::string why_not_private_file(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  // A file whose name was replaced after it was opened has no names left, and is accepted.
  if (status.st_nlink > 1) return "it has another hard link";
  return why_not_private(status);
}

/// Writes without a flush to disk: a reader detects a write torn by a crash by its checksum.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = retry_on_signal([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

}  // namespace

Folder::OpenResult Folder::open(const std::filesystem::path& path) {
  Descriptor folder(retry_on_signal([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  struct stat status;
  if (folder.get() < 0 || ::fstat(folder.get(), &status) != 0) return {nullptr, errno, {}};
  if (std::string refusal = why_not_private(status); !refusal.empty()) {
    if (status.st_uid == ::geteuid())
      refusal +=
          ": remove it or move it away, because another user may have put files into it; to keep it, empty it and "
          "chmod 700 it";
    return {nullptr, EPERM, refusal};
  }
  return {std::make_shared<const Folder>(folder.release()), 0, {}};
}

int Folder::create(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return error.value();
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

Folder::~Folder() { ::close(descriptor_); }

int Folder::read(const std::string& name, std::string& bytes, std::string& refusal) const {
  Descriptor file(retry_on_signal(
      [&] { return ::openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); }));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return errno;
  if (refusal = why_not_private_file(status); !refusal.empty()) return EPERM;
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count =
        retry_on_signal([&] { return ::read(file.get(), bytes.data() + filled, bytes.size() - filled); });
    if (count < 0) return errno;
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
  if (std::time(nullptr) - status.st_mtime > kRenewAfterSeconds) ::futimens(file.get(), nullptr);
  return 0;
}

int Folder::write(const std::string& name, std::string_view bytes) const {
  Descriptor file(retry_on_signal(
      [&] { return ::openat(descriptor_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); }));
  if (file.get() < 0) return errno;
  int error = write_all(file.get(), bytes);
  if (const int closing = file.close(); error == 0) error = closing;
  if (error != 0) remove(name);
  return error;
}

int Folder::rename(const std::string& from, const std::string& to) const {
  return ::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) == 0 ? 0 : errno;
}

int Folder::remove(const std::string& name) const { return ::unlinkat(descriptor_, name.c_str(), 0) == 0 ? 0 : errno; }

std::vector<Folder::File> Folder::list() const {
  std::vector<File> files;
  // A separate handle: all readers of the folder would share one stream's position.
  Descriptor directory(::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return files;
  DIR* stream = ::fdopendir(directory.get());
  if (!stream) return files;
  directory.release();
  while (const dirent* entry = ::readdir(stream)) {
    struct stat status;
    if (::fstatat(descriptor_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    const int64_t modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    files.push_back({entry->d_name, static_cast<uint64_t>(status.st_size), modified});
  }
  ::closedir(stream);
  return files;
}

}  // namespace ingot::runtime
