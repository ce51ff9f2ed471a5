# The tests need NumPy, which ./dev setup gives Debian's python3. The first one in PATH may be
# another, without it. Where none has it the build still works, and the test `reference` fails.
function(attnc_has_numpy result interpreter)
  execute_process(COMMAND ${interpreter} -c "import numpy" RESULT_VARIABLE code
                  OUTPUT_QUIET ERROR_QUIET)
  if(NOT code EQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH VALIDATOR attnc_has_numpy)
find_program(Python3_EXECUTABLE python3 VALIDATOR attnc_has_numpy)
if(NOT Python3_EXECUTABLE)
  unset(Python3_EXECUTABLE CACHE)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# attnc_embed(TARGET name FILES a b c NAMESPACE ns): a static library whose one function
# `ns::files()` returns the files' names and texts, so that a binary carries its data.
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
