# The package file of find_package(ingot): defines ingot::ingot with the PyTorch of INGOT_PYTHON (default: python3).

include(${CMAKE_CURRENT_LIST_DIR}/Torch.cmake)
if(NOT TARGET ingot::torch_cpu)
  find_program(INGOT_PYTHON python3 DOC "The Python whose PyTorch is used")
  ingot_find_torch(${INGOT_PYTHON} ingot_error)
  if(ingot_error)
    set(ingot_FOUND FALSE)
    set(ingot_NOT_FOUND_MESSAGE "${ingot_error}")
    return()
  endif()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/ingotTargets.cmake)
