# attnc_embed(TARGET name FILES a b c NAMESPACE ns): a static library whose one function
# `ns::files()` returns the files' names and texts, so that a binary carries its data.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(attnc_embed)
  cmake_parse_arguments(E "" "TARGET;NAMESPACE" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${E_TARGET}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/embed.py ${out} ${E_NAMESPACE} ${E_FILES}
    DEPENDS ${E_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed.py
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    VERBATIM)
  add_library(${E_TARGET} STATIC ${out})
endfunction()
