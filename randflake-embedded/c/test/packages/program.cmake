# The README's program on a board of the tests, linked with what is in `libraries`. Rust's linker needs no C library.
add_executable(program ${SOURCES})
target_link_libraries(program ${libraries})
list(TRANSFORM SCRIPTS PREPEND "-T " OUTPUT_VARIABLE scripts)
list(JOIN scripts " " scripts)
set(CMAKE_C_LINK_EXECUTABLE
  "${LINKER} --gc-sections ${scripts} <OBJECTS> <LINK_LIBRARIES> -o <TARGET>")
