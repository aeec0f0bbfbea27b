/* SPDX-License-Identifier: MIT */
/* What libqkern.so exports and needs, read from the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <qkern.h>

static char file[1 << 23];
static size_t file_size;
static const ElfW(Ehdr) *header = (const void *)file;

static const ElfW(Shdr) * section_find(uint32_t type, const char *name)
{
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    const char *names = file + sections[header->e_shstrndx].sh_offset;

    for (size_t i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == type &&
            (name == NULL || strcmp(names + sections[i].sh_name, name) == 0))
            return &sections[i];
    return NULL;
}

static const ElfW(Phdr) * segment_find(uint32_t type)
{
    const ElfW(Phdr) *segments = (const void *)(file + header->e_phoff);

    for (size_t i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == type)
            return &segments[i];
    return NULL;
}

static const char *linked_strings(const ElfW(Shdr) * section)
{
    return file +
           ((const ElfW(Shdr) *)(const void *)(file + header->e_shoff))[section->sh_link].sh_offset;
}

static int read_library(void **state)
{
    (void)state;
    FILE *stream = fopen(LIBRARY_FILE, "rb");
    assert_non_null(stream);
    file_size = fread(file, 1, sizeof file, stream);
    fclose(stream);
    assert_true(file_size > sizeof *header && file_size < sizeof file);
    assert_memory_equal(file, ELFMAG, SELFMAG);
    return 0;
}

/* Sanitizers and counters bring symbols, libraries and data of their own: nothing to judge then. */
static void skip_if_instrumented(void)
{
    static const char *const prefixes[] = {"__asan_", "__ubsan_", "__tsan_", "__gcov_", "__llvm_"};
    const ElfW(Shdr) *section = section_find(SHT_SYMTAB, NULL);

    if (section == NULL)
        return;
    const ElfW(Sym) *symbols = (const void *)(file + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof *symbols; i++) {
        const char *name = linked_strings(section) + symbols[i].st_name;
        for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
            if (strncmp(name, prefixes[p], strlen(prefixes[p])) != 0)
                continue;
            print_message("skipped: the library is instrumented (%s)\n", name);
            skip();
        }
    }
}

static void it_exports_only_the_public_functions(void **state)
{
    const ElfW(Shdr) *section = section_find(SHT_DYNSYM, NULL);
    size_t exported = 0;

    (void)state;
    skip_if_instrumented();
    assert_non_null(section);
    const ElfW(Sym) *symbols = (const void *)(file + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof *symbols; i++) {
        const char *name = linked_strings(section) + symbols[i].st_name;
        /* Local ones, as some linkers add for sections, are seen by nobody. */
        if (symbols[i].st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL)
            continue;
        exported++;
        assert_int_equal(strncmp(name, "qkern_", 6), 0);
        assert_int_equal(ELF64_ST_TYPE(symbols[i].st_info), STT_FUNC);
    }
    assert_int_equal(exported, 28);
}

static void it_needs_only_libc(void **state)
{
    const ElfW(Shdr) *section = section_find(SHT_DYNAMIC, NULL);
    size_t needed = 0;

    (void)state;
    skip_if_instrumented();
    assert_non_null(section);
    const ElfW(Dyn) *entries = (const void *)(file + section->sh_offset);
    for (const ElfW(Dyn) *entry = entries; entry->d_tag != DT_NULL; entry++) {
        assert_int_not_equal(entry->d_tag, DT_TEXTREL);
        assert_int_not_equal(entry->d_tag, DT_RPATH);
        assert_int_not_equal(entry->d_tag, DT_RUNPATH);
        if (entry->d_tag != DT_NEEDED)
            continue;
        const char *name = linked_strings(section) + entry->d_un.d_val;
        if (strncmp(name, "libc.so", 7) != 0 && strncmp(name, "ld-linux", 8) != 0)
            fail_msg("libqkern.so needs %s", name);
        needed++;
    }
    assert_true(needed >= 1);
}

static void it_has_no_writable_surprises(void **state)
{
    const ElfW(Shdr) *data = section_find(SHT_PROGBITS, ".data");
    const ElfW(Shdr) *bss = section_find(SHT_NOBITS, ".bss");

    (void)state;
    skip_if_instrumented();
    /* What a thread remembers of its pins: small enough for a library that is loaded late. */
    assert_non_null(segment_find(PT_TLS));
    assert_true(segment_find(PT_TLS)->p_memsz <= 64);
    assert_int_equal(segment_find(PT_TLS)->p_filesz, 0);
    assert_non_null(segment_find(PT_GNU_RELRO));
    assert_int_equal(segment_find(PT_GNU_STACK)->p_flags & PF_X, 0);
    /* __dso_handle; the compiler's `completed` and the counts of loads, instances and threads. */
    assert_true(data == NULL || data->sh_size <= 16);
    assert_true(bss == NULL || bss->sh_size <= 32);
}

static void the_shared_library_works(void **state)
{
    qkern_options options = QKERN_OPTIONS_INIT;
    const float x[3] = {1, 2, 3};
    float result = 0;
    qkern *q = NULL;

    (void)state;
    options.flags = QKERN_OPEN_NO_ENVIRONMENT;
    assert_int_equal(qkern_open(&options, &q, NULL), QKERN_OK);
    assert_int_equal(qkern_vec_dot(q, QKERN_TYPE_F32, 3, x, 12, x, 12, &result, NULL), QKERN_OK);
    assert_float_equal(result, 14, 0);
    /* The build tree has the layout of an installed one: plugins are found beside the library. */
    qkern_record record = {.struct_size = (uint32_t)sizeof record};
    assert_int_equal(qkern_record_get(q, 0, &record, NULL), QKERN_OK);
    assert_string_equal(record.origin, "beside libqkern");
    assert_int_equal(strncmp(record.path, QKERN_TEST_PLUGIN_DIR "/", strlen(QKERN_TEST_PLUGIN_DIR)),
                     0);
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

/* A second copy of the library, loaded by a relative path: "beside" would be the current directory.
 */
static void a_library_loaded_by_a_relative_path_searches_nothing_beside_it(void **state)
{
    char before[4096];
    qkern *q = NULL;
    qkern_record record = {.struct_size = (uint32_t)sizeof record};

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(QKERN_TEST_BINARY_DIR), 0);
    FILE *copy = fopen("copy-of-libqkern.so", "wb");
    assert_non_null(copy);
    assert_int_equal(fwrite(file, 1, file_size, copy), file_size);
    assert_int_equal(fclose(copy), 0);
    void *handle = dlopen("./copy-of-libqkern.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    qkern_status (*copy_open)(const qkern_options *, qkern **, qkern_error *);
    *(void **)&copy_open = dlsym(handle, "qkern_open");
    assert_ptr_not_equal(copy_open, qkern_open);
    assert_int_equal(copy_open(NULL, &q, NULL), QKERN_OK);
    assert_int_equal(qkern_record_get(q, 0, &record, NULL), QKERN_OK);
    assert_string_equal(record.origin, "beside libqkern");
    assert_string_equal(record.path, "./qkern/plugins");
    assert_int_equal(record.status, QKERN_E_ARGUMENT);
    assert_non_null(strstr(record.text, "never searches the current directory"));
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
    assert_int_equal(dlclose(handle), 0);
    assert_int_equal(unlink("copy-of-libqkern.so"), 0);
    assert_int_equal(chdir(before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_exports_only_the_public_functions),
        cmocka_unit_test(it_needs_only_libc),
        cmocka_unit_test(it_has_no_writable_surprises),
        cmocka_unit_test(the_shared_library_works),
        cmocka_unit_test(a_library_loaded_by_a_relative_path_searches_nothing_beside_it),
    };
    return cmocka_run_group_tests(tests, read_library, NULL);
}
