# Finds the libraries that the modules link: fmt::fmt, nlohmann_json::nlohmann_json, and for the runtime CLI11::CLI11
# and ingot::torch_*.

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
if(NOT INGOT_RUNTIME)
  return()
endif()
find_package(CLI11 REQUIRED)

# Select the Python whose PyTorch is used: the one that a wheel is built for, else .venv's, else the system's.
if(SKBUILD)
  set(default_python ${Python_EXECUTABLE})
elseif(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(default_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
else()
  find_program(default_python python3 REQUIRED NO_CACHE)
endif()
set(INGOT_PYTHON ${default_python} CACHE FILEPATH "The Python whose PyTorch is used")

include(Torch)
ingot_find_torch(${INGOT_PYTHON} error)
if(error)
  message(FATAL_ERROR "${error}")
endif()

if(INGOT_CUDA STREQUAL AUTO)
  set(INGOT_WITH_CUDA ${INGOT_TORCH_HAS_CUDA})
else()
  set(INGOT_WITH_CUDA ${INGOT_CUDA})
endif()
if(INGOT_WITH_CUDA AND NOT TARGET ingot::torch_cuda)
  if(NOT INGOT_TORCH_HAS_CUDA)
    message(FATAL_ERROR
      "The PyTorch of ${INGOT_PYTHON} has no CUDA: install a PyTorch with CUDA 13 there, or pass -DINGOT_CUDA=OFF")
  endif()
  message(FATAL_ERROR
    "The PyTorch of ${INGOT_PYTHON} has CUDA, but CUDA's headers or libcudart.so.13 are missing: "
    "install nvidia-cuda-crt==13.0.88 there or a CUDA 13 toolkit, or pass -DINGOT_CUDA=OFF")
endif()
