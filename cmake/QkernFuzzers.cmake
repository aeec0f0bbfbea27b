# Fuzzers. One source, two uses: with QKERN_BUILD_FUZZERS a libFuzzer program that searches for a bounded
# time (label fuzz); without, a program that replays the seeds, so that every build exercises the corpus
# (label fuzz-replay).
set(QKERN_FUZZ_SECONDS 20 CACHE STRING "How long ctest lets each fuzzer search")

if(QKERN_BUILD_FUZZERS)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "QKERN_BUILD_FUZZERS needs clang (libFuzzer); the C compiler is "
      "${CMAKE_C_COMPILER_ID}. Configure with -DCMAKE_C_COMPILER=clang.")
  endif()
  # All code of the project, the libraries too: coverage guides the search, sanitizers judge it.
  add_compile_options(-g -fno-omit-frame-pointer
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
  # clang's sanitizer runtime is in the executable alone, so that shared objects leave it undefined.
  set(QKERN_LINK_NO_UNDEFINED "")
endif()

# qkern_add_fuzzer(NAME SOURCES file... [LIBRARIES lib...] SEEDS folder [DEPENDS target...])
# SOURCES define LLVMFuzzerTestOneInput, which checks its invariants itself and aborts if one is broken.
# SEEDS is a folder of input files, committed or made at build time by the targets in DEPENDS; it is only
# read. What the search finds goes to corpus-NAME and crash files to artifacts-NAME in the build tree.
function(qkern_add_fuzzer name)
  cmake_parse_arguments(arg "" "SEEDS" "SOURCES;LIBRARIES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  qkern_c_target(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  if(QKERN_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(corpus "${CMAKE_CURRENT_BINARY_DIR}/corpus-${name}")
    set(artifacts "${CMAKE_CURRENT_BINARY_DIR}/artifacts-${name}")
    file(MAKE_DIRECTORY "${corpus}" "${artifacts}")
    math(EXPR timeout "${QKERN_FUZZ_SECONDS} + 120")
    add_test(NAME ${name} COMMAND ${name} -max_total_time=${QKERN_FUZZ_SECONDS} -timeout=10
      -rss_limit_mb=1024 -print_final_stats=1 "-artifact_prefix=${artifacts}/" "${corpus}" "${arg_SEEDS}")
    set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c")
    add_test(NAME ${name} COMMAND ${name} "${arg_SEEDS}")
    set_tests_properties(${name} PROPERTIES LABELS fuzz-replay TIMEOUT 900)
  endif()
endfunction()
