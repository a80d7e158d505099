# What nearly every file of the modules includes, parsed once a library.
set(INGOT_COMMON_HEADERS
  <fmt/format.h> <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <unordered_map> <utility> <variant> <vector>)

# ingot_module(NAME LIBRARIES...)
#
# The sources of this folder and those below it as the static library ingot_NAME. A module's headers are included by their
# path from the root. What is compiled into libingot as well must not depend on a library that is not linked there.
function(ingot_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp *.h)
  add_library(ingot_${name} STATIC ${sources})
  set_target_properties(ingot_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(ingot_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(ingot_${name} PUBLIC ${ARGN})
  target_precompile_headers(ingot_${name} PRIVATE ${INGOT_COMMON_HEADERS})
endfunction()

# ingot_compile_together(TARGET N): N files of it are compiled as one, because PyTorch's headers take longer than all that
# these contain. So the names of their unnamed namespaces must differ.
function(ingot_compile_together target n)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${n})
  # A name of one file is no outer scope of the next one.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endfunction()
