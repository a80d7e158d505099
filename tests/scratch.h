#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A private temporary folder for one test.
class Scratch {
 public:
  Scratch() {
    std::string name = testing::TempDir() + "ingot-test-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
    all_.push_back(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

  /// Removes all folders of this process. For a process that created its own folders and ends in the middle of a test.
  static void remove_all() {
    for (const std::filesystem::path& path : all_) std::filesystem::remove_all(path);
  }

 private:
  std::filesystem::path path_;
  static inline std::vector<std::filesystem::path> all_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Returns the names in a folder, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Runs `body` in a child process, where it may drop privileges and set limits. Returns the error message of `body`,
/// empty for none. If the child process dies, the result says so.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "cannot create a pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string answer = body();
    if (::write(ends[1], answer.data(), answer.size()) < 0) ::_exit(2);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[512];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? answer : answer + " (the process ended with status " + std::to_string(status) + ")";
}

/// Lets this process mount file systems that only this process sees. Returns false if the system does not allow
/// that.
inline bool may_mount() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (user != "0") {
    // In a new user namespace, the process has no user until it maps its ids.
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", user + " " + user + " 1");
    write_file("/proc/self/gid_map", group + " " + group + " 1");
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Mounts an empty file system of 64 KiB over the folder.
inline bool mount_small_disk(const std::filesystem::path& folder) {
  return ::mount("none", folder.c_str(), "tmpfs", 0, "size=64k,mode=0700") == 0;
}

}  // namespace ingot::runtime
