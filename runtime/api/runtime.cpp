#include "runtime/api/runtime.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <filesystem>

#include "runtime/api/op.h"

namespace ingot {

namespace runtime {

namespace {

/// A search for the GNU build id of the object that contains `address`. `id` becomes the build id in hexadecimal; it
/// stays empty if the linker wrote none.
struct BuildIdSearch {
  uintptr_t address;
  std::string id;
};

int visit_object(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  bool contains_address = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    contains_address |= header.p_type == PT_LOAD && search.address >= begin && search.address < begin + header.p_memsz;
  }
  if (!contains_address) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* position = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    const char* end = position + header.p_memsz;
    while (position + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, position, sizeof(note));
      const char* name = position + sizeof(note);
      const char* description = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == std::string_view("GNU", 4))
        for (uint32_t b = 0; b < note.n_descsz; ++b)
          search.id += fmt::format("{:02x}", static_cast<unsigned char>(description[b]));
      position = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

std::string find_build_identity() {
  BuildIdSearch search{reinterpret_cast<uintptr_t>(&find_build_identity), {}};
  dl_iterate_phdr(visit_object, &search);
  if (!search.id.empty()) return search.id;
  Dl_info self{};
  dladdr(reinterpret_cast<const void*>(&find_build_identity), &self);
  std::error_code error;
  const auto modified = std::filesystem::last_write_time(self.dli_fname, error).time_since_epoch().count();
  return fmt::format("{}-{}", std::filesystem::file_size(self.dli_fname, error), modified);
}

}  // namespace

const std::string& build_identity() {
  static const std::string identity = find_build_identity();
  return identity;
}

Runtime& default_runtime() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

}  // namespace runtime

Counters Counters::since(const Counters& earlier) const {
  return {lowerings - earlier.lowerings, plans - earlier.plans,
          compiles - earlier.compiles,   disk_hits - earlier.disk_hits,
          launches - earlier.launches,   allocations - earlier.allocations,
          loads - earlier.loads,         eager_fallbacks - earlier.eager_fallbacks};
}

Counters counters() {
  const runtime::AtomicCounters& counters = runtime::default_runtime().counters;
  return {counters.lowerings, counters.plans,       counters.compiles, counters.disk_hits,
          counters.launches,  counters.allocations, counters.loads,    counters.eager_fallbacks};
}

}  // namespace ingot
