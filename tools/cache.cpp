#include <cstdio>
#include <memory>

#include "runtime/api/runtime.h"
#include "tools/commands.h"

namespace ingot::tools {

void add_cache(CLI::App& program, int&) {
  auto clear = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("cache", "Show the folder of compiled kernels");
  command->add_flag("--clear", *clear, "remove its files");
  command->callback([clear] {
    runtime::Store& store = runtime::default_runtime().store;
    if (*clear) std::printf("removed %llu files\n", static_cast<unsigned long long>(store.clear()));
    runtime::Store::Usage usage = store.usage();
    std::printf("%s\n%llu files, %.1f MB\n", store.status().c_str(), static_cast<unsigned long long>(usage.files),
                static_cast<double>(usage.bytes) / 1e6);
  });
}

}  // namespace ingot::tools
