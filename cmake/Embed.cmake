# ingot_embed(TARGET NAMESPACE ns [TABLE name] FILES file...)
#
# Compiles the text of each file into TARGET, byte for byte, as `extern const std::string_view` in the namespace. The
# symbol is the file's path relative to the calling CMakeLists.txt, in which every character other than letters and
# digits is replaced by `_`:
#
#   frontend/library/gamma.py      ingot::frontend::library_gamma_py
#
# Code that uses a file declares its symbol: `extern const std::string_view library_gamma_py;`. TABLE also defines
# `extern const std::span<const EmbeddedFile> name;` (base/embedded.h) with all files in the given order. Both are
# constant-initialised.

if(CMAKE_SCRIPT_MODE_FILE)
  # Script mode (-DFILE -DSYMBOL -DNAMESPACE -DOUTPUT): write the C++ of one file.
  file(READ ${FILE} text)
  file(WRITE ${OUTPUT} "#include <string_view>

namespace ${NAMESPACE} {
namespace {
constexpr char kText[] = R\"ingot(${text})ingot\";
}  // namespace

extern const std::string_view ${SYMBOL};
constinit const std::string_view ${SYMBOL}{kText, sizeof(kText) - 1};
}  // namespace ${NAMESPACE}
")
  return()
endif()

set(INGOT_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(ingot_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE;TABLE" FILES)
  set(declarations "")
  set(rows "")
  foreach(file IN LISTS arg_FILES)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    string(MAKE_C_IDENTIFIER ${path} symbol)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DSYMBOL=${symbol} -DNAMESPACE=${arg_NAMESPACE}
              -DOUTPUT=${output} -P ${INGOT_EMBED_SCRIPT}
      DEPENDS ${file} ${INGOT_EMBED_SCRIPT}
      VERBATIM)
    target_sources(${target} PRIVATE ${output})
    cmake_path(GET file FILENAME name)
    string(APPEND declarations "extern const std::string_view ${symbol};\n")
    string(APPEND rows "    {\"${name}\", &${symbol}},\n")
  endforeach()
  if(arg_TABLE)
    set(table ${CMAKE_CURRENT_BINARY_DIR}/${arg_TABLE}.cpp)
    file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
#include <span>
#include <string_view>

#include "base/embedded.h"

namespace @arg_NAMESPACE@ {
@declarations@
namespace {
constexpr EmbeddedFile kFiles[] = {
@rows@};
}  // namespace

extern const std::span<const EmbeddedFile> @arg_TABLE@;
constinit const std::span<const EmbeddedFile> @arg_TABLE@{kFiles};
}  // namespace @arg_NAMESPACE@
]])
    target_sources(${target} PRIVATE ${table})
  endif()
endfunction()
