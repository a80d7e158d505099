#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// An open folder that belongs to this user alone, and a store's operations on its files. The folder is checked when it
/// is opened, and every file is reached through that handle, so no other folder can take its place later. Files are
/// named without a path. Errors are `errno` values, 0 for none; the store interprets them.
class Folder {
 public:
  struct OpenResult {
    std::shared_ptr<const Folder> folder;  ///< null when there was an error
    int error = 0;
    std::string refusal;  ///< why an existing folder is not private; `error` is then EPERM
  };
  /// Opens a folder. Follows symbolic links; their target must be private.
  static OpenResult open(const std::filesystem::path& path);
  /// Makes the folder with mode 0700, and its parents if they are missing. Leaves an existing folder unchanged.
  static int create(const std::filesystem::path& path);

  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  /// Reads the whole file. The file must be regular, have this name only, and be writable by this user alone, because
  /// the folder's contents may date from before the folder was private. Otherwise the error is EPERM, and `refusal`
  /// says why. Renews the file's date if that is more than a day old, so that files in use are not the oldest.
  int read(const std::string& name, std::string& bytes, std::string& refusal) const;
  /// Makes a file (it must not exist), writes the bytes and closes it. After an error the file does not exist.
  int write(const std::string& name, std::string_view bytes) const;
  int rename(const std::string& from, const std::string& to) const;
  int remove(const std::string& name) const;

  struct File {
    std::string name;
    uint64_t bytes = 0;
    int64_t modified = 0;  ///< the date, in nanoseconds since the epoch
  };
  /// Lists the regular files, in no order; files that vanish meanwhile are omitted.
  std::vector<File> list() const;

 private:
  int descriptor_;
};

}  // namespace ingot::runtime
