#pragma once

#include <filesystem>

namespace ingot::runtime {

/// A private folder that is removed, with its contents, at the end of its scope. If the process is killed before, the
/// next process that makes such a folder removes it.
class TemporaryFolder {
 public:
  /// Creates the folder in the first of $TMPDIR, /tmp, /var/tmp and /dev/shm that is writable and has space for a
  /// compilation's files. Errors: Error(Environment), with the reason for each.
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_;  ///< a descriptor of the folder; its lock shows that the owner lives
};

/// Removes the temporary folders below `parent` whose processes are dead.
void sweep_temporary_folders(const std::filesystem::path& parent);

}  // namespace ingot::runtime
