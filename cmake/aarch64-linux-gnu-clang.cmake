# As aarch64-linux-gnu.cmake, compiled by clang, with the linker and the libc of Debian's cross compiler.
include("${CMAKE_CURRENT_LIST_DIR}/aarch64-linux-gnu.cmake")
foreach(language ASM C CXX)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
