#pragma once

#include <filesystem>

namespace ingot::runtime {

/// A private folder that vanishes, with all that is in it, at the end of its scope. Where the process is killed before,
/// the next one that makes such a folder removes it.
class TemporaryFolder {
 public:
  /// In the first of $TMPDIR, /tmp, /var/tmp and /dev/shm that can be written and has room for a compilation's files.
  /// Errors: Error(Environment), with what is wrong with each.
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_;  ///< a descriptor of the folder, locked: its owner lives
};

/// Removes the temporary folders below `parent` whose processes are dead.
void sweep_temporary_folders(const std::filesystem::path& parent);

}  // namespace ingot::runtime
