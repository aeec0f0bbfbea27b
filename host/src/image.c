/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "bytes.h"

#define BUILD_ID_BYTES_LIMIT 64u

struct search {
    uintptr_t address;
    struct image *image;
};

static bool segment_holds(const struct image *image, uintptr_t address, uint64_t size,
                          uint32_t flags)
{
    const ElfW(Phdr) *programs = image->programs;

    for (size_t i = 0; i < image->program_count; i++) {
        uint64_t offset = address - (image->base + programs[i].p_vaddr);
        if (programs[i].p_type == PT_LOAD && (programs[i].p_flags & flags) == flags &&
            offset < programs[i].p_memsz && size <= programs[i].p_memsz - offset)
            return true;
    }
    return false;
}

bool image_holds(const struct image *image, uintptr_t address, uint64_t size, enum image_part part)
{
    return segment_holds(image, address, size, part == IMAGE_CODE ? PF_X : PF_R);
}

/* Finds the note in a mapped segment. Sizes are checked as in a file: the linker wrote them, but a
 * wrong one must not make us read beyond the segment. */
static void build_id_read(const unsigned char *notes, size_t size, char *out)
{
    size_t at = 0;

    while (size - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t data_size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name_size > size - at || data_size > size - at - name_size)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= BUILD_ID_BYTES_LIMIT) {
            bytes_hex(notes + at + name_size, note.n_descsz, out);
            return;
        }
        at += name_size + data_size;
    }
}

static int object_visit(struct dl_phdr_info *object, size_t size, void *context)
{
    const struct search *search = context;
    struct image *image = search->image;

    (void)size;
    image->programs = object->dlpi_phdr;
    image->program_count = object->dlpi_phnum;
    image->base = object->dlpi_addr;
    if (!segment_holds(image, search->address, 1, 0))
        return 0;
    for (size_t i = 0; i < object->dlpi_phnum && image->build_id[0] == '\0'; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_NOTE && image_holds(image, start, segment->p_memsz, IMAGE_DATA))
            build_id_read((const unsigned char *)start, segment->p_memsz, image->build_id);
    }
    return 1;
}

bool image_find(const void *address, struct image *out)
{
    Dl_info info;
    void *map = NULL;

    if (dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return false;
    *out = (struct image){.map = map};
    struct search search = {(uintptr_t)address, out};
    return dl_iterate_phdr(object_visit, &search) != 0;
}

bool image_is_function(const void *address)
{
    Dl_info info;
    void *symbol = NULL;

    return dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
           info.dli_saddr == address &&
           ELF64_ST_TYPE(((const ElfW(Sym) *)symbol)->st_info) == STT_FUNC;
}

const char *image_path(const struct image *image)
{
    return ((const struct link_map *)image->map)->l_name;
}

const void *image_of_handle(void *handle)
{
    struct link_map *map = NULL;

    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}
