# libattnc.a from the objects of libattnc.so, and the target attnc_static (attnc::static) for it.
find_program(ATTNC_LLD NAMES ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
set(header ${PROJECT_SOURCE_DIR}/api/include/attnc_c.h)

# An executable to CMake: that gives the closure of the libraries, which its archives lack.
set(CMAKE_CXX_LINK_EXECUTABLE "${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/static_library.py \
${ATTNC_LLD} ${CMAKE_OBJCOPY} ${CMAKE_AR} ${header} <TARGET> <OBJECTS> <LINK_LIBRARIES>")
add_executable(attnc_archive $<TARGET_OBJECTS:attnc_shared>)
set_target_properties(attnc_archive PROPERTIES OUTPUT_NAME attnc PREFIX lib SUFFIX .a
  LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  LINK_DEPENDS "${header};${CMAKE_CURRENT_LIST_DIR}/static_library.py")
target_link_libraries(attnc_archive PRIVATE attnc_jit attnc_spec_library)

add_library(attnc_static INTERFACE)
add_library(attnc::static ALIAS attnc_static)
set_target_properties(attnc_static PROPERTIES EXPORT_NAME static)
add_dependencies(attnc_static attnc_archive)
target_include_directories(attnc_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/api/include>)
target_link_libraries(attnc_static INTERFACE
  $<BUILD_INTERFACE:$<TARGET_FILE:attnc_archive>>
  $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/libattnc.a>
  stdc++ m)
