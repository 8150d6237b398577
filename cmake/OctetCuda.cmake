# Is there a CUDA compiler new enough? Sets OCTET_CUDA_FOUND and OCTET_NVCC; says aloud when CUDA is left out, and why.
# Then, are there the headers of cuDNN's attention, and of NVTX, which names ranges for profilers? Sets OCTET_CUDNN_FOUND
# and OCTET_NVTX_FOUND, and says aloud what is missing.
set(OCTET_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc >= 12.4 is found), ON, OFF")
set_property(CACHE OCTET_CUDA PROPERTY STRINGS AUTO ON OFF)
set(octet_oldest_nvcc 12.4)

set(OCTET_CUDA_FOUND FALSE)
set(octet_no_cuda "OCTET_CUDA is OFF")
if(NOT OCTET_CUDA STREQUAL OFF)
  # Where the toolkit's installers put it, and where PyPI's nvidia-cuda-nvcc does.
  find_program(OCTET_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /usr PATH_SUFFIXES bin)
  if(NOT OCTET_NVCC)
    set(octet_no_cuda "no nvcc: install NVIDIA's CUDA toolkit ${octet_oldest_nvcc} or newer, or set CUDA_HOME")
  else()
    execute_process(COMMAND ${OCTET_NVCC} --version OUTPUT_VARIABLE octet_nvcc_text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" octet_nvcc_release "${octet_nvcc_text}")
    set(OCTET_NVCC_VERSION "${CMAKE_MATCH_1}")
    if(OCTET_NVCC_VERSION VERSION_LESS octet_oldest_nvcc)
      set(octet_no_cuda "${OCTET_NVCC} is of CUDA ${OCTET_NVCC_VERSION}, older than ${octet_oldest_nvcc}")
    else()
      get_filename_component(octet_cuda_bin ${OCTET_NVCC} DIRECTORY)
      find_path(OCTET_CUDA_INCLUDE cuda.h HINTS ${octet_cuda_bin}/../include ENV CUDA_HOME PATH_SUFFIXES include)
      if(OCTET_CUDA_INCLUDE)
        set(OCTET_CUDA_FOUND TRUE)
      else()
        set(octet_no_cuda "no cuda.h beside ${OCTET_NVCC}")
      endif()
    endif()
  endif()
endif()
if(OCTET_CUDA_FOUND)
  message(STATUS "CUDA: kernels for sm_90a by ${OCTET_NVCC} ${OCTET_NVCC_VERSION}")
elseif(OCTET_CUDA STREQUAL ON)
  message(FATAL_ERROR "CUDA was asked for: ${octet_no_cuda}")
else()
  message(STATUS "CUDA is left out: ${octet_no_cuda}")
endif()

# cudnn-frontend is headers in a Python wheel; scripts/cudnn_frontend fetches it.
set(OCTET_CUDNN_FOUND FALSE)
if(OCTET_CUDA_FOUND)
  file(GLOB octet_wheels ${PROJECT_SOURCE_DIR}/build/cudnn/lib/python3*/site-packages
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages ${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages
       ${PROJECT_SOURCE_DIR}/build/release/venv/lib/python3*/site-packages)
  find_path(OCTET_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${octet_wheels} PATHS ${OCTET_CUDA_INCLUDE}
            PATH_SUFFIXES include DOC "Where cudnn_frontend.h is")
  find_path(OCTET_CUDNN_INCLUDE cudnn.h HINTS ${OCTET_CUDA_INCLUDE} ${octet_wheels}
            PATH_SUFFIXES nvidia/cudnn/include DOC "Where cudnn.h is")
  if(NOT OCTET_CUDNN_FRONTEND_INCLUDE)
    message(STATUS "cuDNN is left out, attention runs on own kernels: no cudnn_frontend.h: scripts/cudnn_frontend "
                   "fetches it (pip install --no-deps nvidia-cudnn-frontend), or set OCTET_CUDNN_FRONTEND_INCLUDE")
  elseif(NOT OCTET_CUDNN_INCLUDE)
    message(STATUS "cuDNN is left out, attention runs on own kernels: no cudnn.h: install NVIDIA's cuDNN "
                   "(pip install nvidia-cudnn-cu13), or set OCTET_CUDNN_INCLUDE")
  else()
    set(OCTET_CUDNN_FOUND TRUE)
    message(STATUS "cuDNN: attention through ${OCTET_CUDNN_FRONTEND_INCLUDE}/cudnn_frontend.h")
  endif()
endif()

# Headers too, of the toolkit; PyPI has them as nvidia-nvtx.
set(OCTET_NVTX_FOUND FALSE)
if(OCTET_CUDA_FOUND)
  find_path(OCTET_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS ${OCTET_CUDA_INCLUDE} ${octet_wheels}
            PATH_SUFFIXES nvidia/cu13/include nvidia/nvtx/include DOC "Where nvtx3/nvToolsExt.h is")
  if(OCTET_NVTX_INCLUDE)
    set(OCTET_NVTX_FOUND TRUE)
    message(STATUS "NVTX: ranges for NVIDIA's profilers through ${OCTET_NVTX_INCLUDE}/nvtx3")
  else()
    message(STATUS "NVTX is left out, profilers see kernels without the layers they belong to: no nvtx3/nvToolsExt.h "
                   "beside ${OCTET_CUDA_INCLUDE}/cuda.h: install NVIDIA's CUDA toolkit whole (pip install nvidia-nvtx), "
                   "or set OCTET_NVTX_INCLUDE")
  endif()
endif()
