#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// An open folder that belongs to this user alone, and what a store does to the files in it. It was checked when it was
/// opened, and every file is reached through that handle, so nobody can put another folder in its place later. Files
/// are named without a path. Errors are `errno` values, 0 for none: what they mean is the store's affair.
class Folder {
 public:
  struct Opened {
    std::shared_ptr<const Folder> folder;  ///< null when there was an error
    int error = 0;
    std::string refusal;  ///< why the folder, though there, is not private; `error` is then EPERM
  };
  /// Follows symbolic links; it is the target that must be private.
  static Opened open(const std::filesystem::path& path);
  /// Makes the folder with mode 0700, and its parents where they are missing. One that is there is left as it is.
  static int create(const std::filesystem::path& path);

  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  /// The whole file, if it is a regular one that this user alone can write, under this one name: what lies in the
  /// folder may have been put there before the folder was private. Otherwise EPERM, and `refusal` says why. Renews the
  /// file's date if that is more than a day old, so that what is in use is not the oldest.
  int read(const std::string& name, std::string& bytes, std::string& refusal) const;
  /// Makes a file (it must not exist), flushes and closes it. After an error there is no such file.
  int write(const std::string& name, std::string_view bytes) const;
  int rename(const std::string& from, const std::string& to) const;
  int remove(const std::string& name) const;

  struct File {
    std::string name;
    uint64_t bytes = 0;
    int64_t written = 0;  ///< when, in nanoseconds since the epoch
  };
  /// The regular files, in no order; those that vanish meanwhile are left out.
  std::vector<File> list() const;

 private:
  int descriptor_;
};

}  // namespace ingot::runtime
