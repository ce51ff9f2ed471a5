# MLIR and LLVM as static archives, so that the attnc binary needs only libc and libm.
#
# Debian's MLIR targets point at libLLVM.so. Every MLIR target's link interface is rewritten to
# name an interface library of the LLVM components in use instead.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})

set(LLVM_LINK_LLVM_DYLIB OFF)
llvm_map_components_to_libnames(ATTNC_LLVM_LIBS
  support core asmparser remarks orcjit native nativecodegen passes jitlink executionengine
  perfjitevents)
find_library(ATTNC_LIBZ libz.a REQUIRED)
find_library(ATTNC_LIBZSTD libzstd.a REQUIRED)
set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES
  "m;dl;rt;pthread;${ATTNC_LIBZ};${ATTNC_LIBZSTD};LLVMDemangle")

add_library(attnc_llvm INTERFACE)
target_link_libraries(attnc_llvm INTERFACE ${ATTNC_LLVM_LIBS})

get_property(mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib IN LISTS mlir_libs)
  if(NOT TARGET ${lib} OR lib STREQUAL "MLIR")
    continue()
  endif()
  get_target_property(deps ${lib} INTERFACE_LINK_LIBRARIES)
  if(deps)
    list(REMOVE_ITEM deps MLIR)
    list(TRANSFORM deps REPLACE "^LLVM$" attnc_llvm)
    set_property(TARGET ${lib} PROPERTY INTERFACE_LINK_LIBRARIES "${deps}")
  endif()
endforeach()
