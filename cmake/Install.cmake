# Install rules: the C++ library and the command line program; in a wheel, the Python package instead.

set(libraries ingot)
if(TARGET ingot_cuda)
  list(APPEND libraries ingot_cuda)
endif()

if(SKBUILD)
  list(APPEND libraries ingot_python)
  set_target_properties(${libraries} PROPERTIES
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib;$ORIGIN/../nvidia/cu13/lib")
  install(TARGETS ${libraries} LIBRARY DESTINATION ingot)
  # A wheel includes fmt, so that it needs no library of the system on which it was built.
  get_target_property(kind fmt::fmt TYPE)
  if(kind STREQUAL SHARED_LIBRARY)
    install(FILES $<TARGET_FILE:fmt::fmt> DESTINATION ingot RENAME $<TARGET_SONAME_FILE_NAME:fmt::fmt>)
  endif()
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The installed libraries and `ingot` must find the PyTorch that they were built with. A program that links them sets
# its own RPATH.
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN;${INGOT_TORCH_RPATH}")
install(TARGETS ${libraries} EXPORT ingotTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET ingot_cli)
  set_target_properties(ingot_cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${INGOT_TORCH_RPATH}")
  install(TARGETS ingot_cli)
endif()

install(FILES ingot.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ingot)
install(FILES ${PROJECT_BINARY_DIR}/include/frontend/library/language.def
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ingot/frontend/library)
install(DIRECTORY base ir frontend codegen runtime
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ingot
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
        PATTERN codegen/target/prelude EXCLUDE
        PATTERN runtime/cache EXCLUDE
        PATTERN runtime/compile EXCLUDE
        PATTERN runtime/cuda EXCLUDE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/ingotConfig.cmake cmake/Torch.cmake ${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake
        DESTINATION ${package})
install(EXPORT ingotTargets NAMESPACE ingot:: DESTINATION ${package})
