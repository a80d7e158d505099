# Headers that nearly every file of the modules includes, precompiled once per library.
set(INGOT_COMMON_HEADERS
  <fmt/format.h> <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <unordered_map> <utility> <variant> <vector>)

# ingot_module(NAME LIBRARIES...)
#
# Builds the sources of this directory and its subdirectories as the static library ingot_NAME. A module's headers are
# included by their path from the root. libingot contains the object files of the modules too. So a module must not
# depend on a library that libingot does not link.
function(ingot_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp *.h)
  add_library(ingot_${name} STATIC ${sources})
  set_target_properties(ingot_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(ingot_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(ingot_${name} PUBLIC ${ARGN})
  target_precompile_headers(ingot_${name} PRIVATE ${INGOT_COMMON_HEADERS})
endfunction()

# ingot_compile_together(TARGET N): compiles N files of the target as one (a unity build), because parsing PyTorch's
# headers takes longer than compiling the files. Names in the unnamed namespaces of these files must therefore differ.
function(ingot_compile_together target n)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${n})
  # A unity build would report names of an earlier file as shadowed, so warn about shadowed locals only.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endfunction()
