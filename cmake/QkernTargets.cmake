# What every target of the project shares, said once.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, ..." FORCE)
endif()

# The build tree has the layout of an installed one, so that nothing behaves differently in it.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_BINDIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(QKERN_PLUGIN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/qkern/plugins")
set(QKERN_PLUGIN_INSTALL_DIRECTORY "${CMAKE_INSTALL_LIBDIR}/qkern/plugins")

# How shared objects are linked so that a missing symbol is an error of the build.
set(QKERN_LINK_NO_UNDEFINED -Wl,--no-undefined)

# libm where the compiler makes calls of it (sqrtf without optimization); otherwise nothing is needed.
set(QKERN_LINK_LIBM -Wl,--push-state,--as-needed -lm -Wl,--pop-state)

# Compiler flags of all C code: warnings, POSIX, and the numeric contract's plain IEEE arithmetic.
function(qkern_c_target target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -ffp-contract=off -fno-fast-math)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  # Atomics in place: the compiler's helpers for them ask for the CPU in start-up code.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    target_compile_options(${target} PRIVATE -mno-outline-atomics)
  endif()
  if(QKERN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# qkern_add_plugin(NAME SOURCES file... [FLAGS flag...])
# Builds lib/qkern/plugins/qkern-NAME.so from plugin.c and the kernels: one exported symbol, libc and
# libm at most, no start-up code. Also an object library qkern_NAME_objects of the same sources with the
# entry named qkern_plugin_NAME, for linking it statically. The global property QKERN_PLUGINS has all names.
function(qkern_add_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY QKERN_PLUGINS ${name})
  add_library(qkern_plugin_${name} MODULE ${arg_SOURCES})
  set_target_properties(qkern_plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "qkern-${name}" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY "${QKERN_PLUGIN_OUTPUT_DIRECTORY}")
  target_link_options(qkern_plugin_${name} PRIVATE
    -nostartfiles -Wl,-Bsymbolic ${QKERN_LINK_NO_UNDEFINED} -Wl,--build-id)
  add_library(qkern_${name}_objects OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_compile_definitions(qkern_${name}_objects PRIVATE
    QKERN_PLUGIN_STATIC QKERN_PLUGIN_ENTRY=qkern_plugin_${name})
  foreach(target qkern_plugin_${name} qkern_${name}_objects)
    qkern_c_target(${target})
    target_compile_definitions(${target} PRIVATE QKERN_PLUGIN_VERSION="${PROJECT_VERSION}")
    # Lanes of integers wrap: sums of codes that no number stands behind (NaN) may be anything.
    target_compile_options(${target} PRIVATE -fwrapv ${arg_FLAGS})
    # gcc puts VZEROUPPER before a return at -O2, else only with this; with -Os not at all.
    target_compile_options(${target} PRIVATE
      $<$<C_COMPILER_ID:GNU>:-fexpensive-optimizations> $<$<CONFIG:MinSizeRel>:-O2>)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/plugins")
    target_link_libraries(${target} PRIVATE qkern_abi)
  endforeach()
  target_link_libraries(qkern_plugin_${name} PRIVATE ${QKERN_LINK_LIBM})
  target_link_libraries(qkern_${name}_objects INTERFACE ${QKERN_LINK_LIBM})
  install(TARGETS qkern_plugin_${name} DESTINATION "${QKERN_PLUGIN_INSTALL_DIRECTORY}")
endfunction()

# qkern_add_test(NAME SOURCES file... [LIBRARIES lib...] [LABELS label...] [ARGS arg...] [TIMEOUT s])
# A cmocka program, registered with ctest. It sees the internals of host/ and gguf/.
function(qkern_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  qkern_c_target(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE
    QKERN_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}/tests"
    QKERN_TEST_BINARY_DIR="${CMAKE_CURRENT_BINARY_DIR}"
    QKERN_TEST_PLUGIN_DIR="${QKERN_PLUGIN_OUTPUT_DIRECTORY}"
    QKERN_TEST_SHARED_DIR="${QKERN_SHARED_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} qkern_cmocka)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# qkern_install_pc(FILE.pc.in): a pkg-config file that works wherever the whole prefix is moved.
function(qkern_install_pc template)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE QKERN_PC_TO_PREFIX)
  cmake_path(GET template STEM LAST_ONLY name)
  configure_file("${template}" "${CMAKE_CURRENT_BINARY_DIR}/${name}" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
