// Writes the supported functions to standard output as a table for the C++ API: one INGOT_FUNCTION(name) per line. The
// build runs this program (frontend/CMakeLists.txt).

#include <cstdio>
#include <set>
#include <string>

#include "frontend/frontend.h"

int main() {
  std::set<std::string> names;
  for (const ingot::frontend::NameInfo& info : ingot::frontend::language_names()) {
    if (!info.is_function) continue;
    names.emplace(info.name);
    names.insert(info.aliases.begin(), info.aliases.end());
  }
  for (const std::string& name : names) std::printf("INGOT_FUNCTION(%s)\n", name.c_str());
}
