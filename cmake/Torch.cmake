# ingot_find_torch(PYTHON ERROR)
#
# Defines imported targets for the PyTorch of a Python:
#
#   ingot::torch_cpu      c10, torch_cpu and their headers
#   ingot::torch_cuda     c10_cuda, torch_cuda, cudart and their headers, if INGOT_TORCH_HAS_CUDA and they are found
#   ingot::torch_python   torch_python and the headers of that Python
#
# Sets INGOT_TORCH_RPATH to the folders of these libraries, INGOT_PYTHON_SUFFIX to the file name suffix of extension
# modules, and the variable ERROR to an error message, or to an empty string on success.
#
# find_package(Torch) is no alternative: it enables CUDA and requires a toolkit. The probe does not import torch, so
# that the isolated build of a wheel finds PyTorch too. Ingot's installed package includes this file, so it must not
# contain paths of the build.

set(INGOT_TORCH_VERSION 2.11)

set(INGOT_TORCH_PROBE [[
import importlib.util, pathlib, re, sysconfig
spec = importlib.util.find_spec("torch")
root = pathlib.Path(spec.origin).parent if spec else pathlib.Path(sysconfig.get_path("platlib"), "torch")
version = re.search(r"__version__ = '(.*)'", (root / "version.py").read_text())[1]
print(root, version, sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX"), sep=";", end="")
]])

function(ingot_find_torch python error)
  set(${error} "" PARENT_SCOPE)
  execute_process(COMMAND ${python} -c "${INGOT_TORCH_PROBE}" OUTPUT_VARIABLE found
                  RESULT_VARIABLE failed ERROR_QUIET)
  set(advice "install torch==${INGOT_TORCH_VERSION}.* there, or name another Python with -DINGOT_PYTHON=...")
  if(failed)
    set(${error} "${python} has no PyTorch: ${advice}" PARENT_SCOPE)
    return()
  endif()
  list(POP_FRONT found root version python_include suffix)
  if(NOT version MATCHES "^${INGOT_TORCH_VERSION}\\.")
    set(${error} "${python} has PyTorch ${version}, Ingot is built for ${INGOT_TORCH_VERSION}: ${advice}"
        PARENT_SCOPE)
    return()
  endif()
  message(STATUS "PyTorch ${version}: ${root}")

  set(lib ${root}/lib)
  set(rpath ${lib})
  add_library(ingot::torch_cpu INTERFACE IMPORTED)
  target_include_directories(ingot::torch_cpu INTERFACE ${root}/include
                             ${root}/include/torch/csrc/api/include)
  target_link_libraries(ingot::torch_cpu INTERFACE ${lib}/libtorch_cpu.so ${lib}/libc10.so)
  # PyTorch's headers contain a newer fmt. The newer fmt hides the system's headers but not the system's library, so use
  # it header-only.
  target_compile_definitions(ingot::torch_cpu INTERFACE FMT_HEADER_ONLY)

  add_library(ingot::torch_python INTERFACE IMPORTED)
  target_include_directories(ingot::torch_python INTERFACE ${python_include})
  target_link_libraries(ingot::torch_python INTERFACE ingot::torch_cpu ${lib}/libtorch_python.so)
  set(INGOT_PYTHON_SUFFIX ${suffix} PARENT_SCOPE)

  set(INGOT_TORCH_HAS_CUDA OFF PARENT_SCOPE)
  if(EXISTS ${lib}/libtorch_cuda.so)
    set(INGOT_TORCH_HAS_CUDA ON PARENT_SCOPE)
    # Use the CUDA wheels, which are installed next to torch, or else a toolkit.
    set(cuda ${root}/../nvidia/cu13)
    find_path(cuda_include crt/host_defines.h HINTS ${cuda}/include
              PATHS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES include NO_CACHE)
    find_library(cudart libcudart.so.13 HINTS ${cuda}/lib
                 PATHS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES lib64 NO_CACHE)
  endif()
  if(cuda_include AND cudart)
    add_library(ingot::torch_cuda INTERFACE IMPORTED)
    target_include_directories(ingot::torch_cuda INTERFACE ${cuda_include})
    # No symbol of torch_cuda is referenced, but it must be loaded, because it registers the CUDA kernels.
    target_link_libraries(ingot::torch_cuda INTERFACE ingot::torch_cpu
                          -Wl,--push-state,--no-as-needed,${lib}/libtorch_cuda.so,--pop-state
                          ${lib}/libc10_cuda.so ${cudart})
    cmake_path(GET cudart PARENT_PATH cuda_lib)
    list(APPEND rpath ${cuda_lib})
  endif()
  set(INGOT_TORCH_RPATH ${rpath} PARENT_SCOPE)
endfunction()
