# Three packages: attnc, to run, attnc-dev, to build programs with, and attncd, the service of a fleet.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "attnc maintainers <maintainers@attnc.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime development)
if(ATTNC_SERVICE)
  list(APPEND CPACK_COMPONENTS_ALL service)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd) # xz takes minutes
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME attnc)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Compiles specs of attention variants to fused kernels for NVIDIA GPUs and for
the processor: the command attnc, the library libattnc.so, a Python module and
a library of specs. The CUDA driver and NVRTC are used when they are there.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "python3, python3-numpy, cuda-nvrtc-13-0")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME attnc-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "For programs in C and C++ that use attnc: its headers, what CMake and pkg-config
need to find it, and the library as one archive.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "attnc (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_SERVICE_PACKAGE_NAME attncd)
set(CPACK_DEBIAN_SERVICE_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVICE_DESCRIPTION "The kernel cache service of attnc: keeps compiled kernels for a fleet, and compiles
for machines that have no compiler.")
set(CPACK_DEBIAN_SERVICE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVICE_PACKAGE_SUGGESTS "cuda-nvrtc-13-0")
include(CPack)
