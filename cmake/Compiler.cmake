# Warnings, linker, compiler cache, sanitizers: one place for every target of the project. Nothing
# of it reaches a project that attnc is a part of.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "attnc is built with clang, not with ${CMAKE_CXX_COMPILER_ID}: set "
    "CMAKE_CXX_COMPILER to clang++-22, or install attnc and use find_package(attnc), which any "
    "compiler can")
endif()
set(ATTNC_WARNINGS -Wall -Wextra)
if(PROJECT_IS_TOP_LEVEL)
  list(APPEND ATTNC_WARNINGS -Werror)
endif()
add_compile_options(${ATTNC_WARNINGS} -Wno-unused-parameter -fno-semantic-interposition)
add_link_options(-fuse-ld=lld)
# The same objects make the binaries and libattnc.so. A flag and not CMake's property, which gives
# programs -fPIE, and then they could not share the libraries' precompiled header.
add_compile_options(-fPIC)

find_program(CCACHE ccache)
if(CCACHE)
  # The shared precompiled header needs both: no time stamp inside it, and ccache told not to mind it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  add_compile_options(-Xclang -fno-pch-timestamp)
endif()

if(ATTNC_SANITIZE)
  # LLVM itself is not instrumented: container annotations and vptr checks would report its inlines.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined -fno-sanitize=vptr,function)
else()
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-static-libstdc++> -static-libgcc LINKER:--gc-sections LINKER:--icf=all LINKER:-O2
                   LINKER:--strip-debug)
endif()
if(ATTNC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
