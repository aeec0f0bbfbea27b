/* SPDX-License-Identifier: MIT */
/*
 * Feature detection on played machines. The stand-ins answer only what may be asked: a leaf beyond
 * the reported maximum, XGETBV without OSXSAVE or another auxiliary entry fails the test.
 */
#include "feature_list.h"

/* --- played machines -------------------------------------------------------------------------- */

struct x86_machine {
    uint32_t basic_limit;    /* CPUID.0:EAX */
    uint32_t extended_limit; /* CPUID.0x80000000:EAX */
    uint32_t leaf1_ecx, leaf1_edx;
    uint32_t leaf7[4], leaf7_1[4];
    uint32_t extended_ecx;
    uint64_t xcr0;
};

static void play_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    const struct x86_machine *machine = context;

    memset(registers, 0, 4 * sizeof registers[0]);
    switch (leaf) {
    case 0:
        registers[0] = machine->basic_limit;
        return;
    case 1:
        assert_true(machine->basic_limit >= 1);
        registers[2] = machine->leaf1_ecx;
        registers[3] = machine->leaf1_edx;
        return;
    case 7:
        assert_true(machine->basic_limit >= 7);
        assert_true(subleaf == 0 || (subleaf == 1 && machine->leaf7[0] >= 1));
        memcpy(registers, subleaf == 0 ? machine->leaf7 : machine->leaf7_1,
               4 * sizeof registers[0]);
        return;
    case 0x80000000u:
        registers[0] = machine->extended_limit;
        return;
    case 0x80000001u:
        assert_true(machine->extended_limit >= 0x80000001u);
        registers[2] = machine->extended_ecx;
        return;
    default:
        fail_msg("leaf 0x%x must not be asked", leaf);
    }
}

static uint64_t play_xgetbv(void *context, uint32_t index)
{
    const struct x86_machine *machine = context;

    assert_int_equal(index, 0);
    assert_true(machine->leaf1_ecx >> 27 & 1);
    return machine->xcr0;
}

static void x86_features(const struct x86_machine *machine, struct cpu_features *features)
{
    struct x86_machine copy = *machine;
    const struct cpu_source source = {.arch = QKERN_ARCH_X86_64,
                                      .os = CPU_OS_LINUX,
                                      .context = &copy,
                                      .cpuid = play_cpuid,
                                      .xgetbv = play_xgetbv};

    features_detect(&source, features);
}

/* Register values as these CPUs report them. */
static const struct x86_machine nehalem = {0xb, 0x80000008u, 0x0098e3bd, 0xbfebfbff,
                                           {0}, {0},         0x1,        0};
static const struct x86_machine haswell = {
    0xd, 0x80000008u, 0x7ffafbff, 0xbfebfbff, {0, 0x27ab, 0, 0}, {0}, 0x21, 0x7};
static const struct x86_machine knights_landing = {
    0xd, 0x80000008u, 0x7ff8f3bf, 0xbfebfbff, {0, 0x1c0d23ab, 0x1, 0}, {0}, 0x121, 0xe7};
static const struct x86_machine sapphire_rapids = {0x20,
                                                   0x80000008u,
                                                   0x7ffefbff,
                                                   0xbfebfbff,
                                                   {2, 0xf3bfbffb, 0xfb417ffe, 0xffdd4432},
                                                   {0x1c30, 0, 0, 0},
                                                   0x121,
                                                   0x602e7};
static const struct x86_machine zen4 = {0x10,
                                        0x80000028u,
                                        0x7ed8320b,
                                        0x178bfbff,
                                        {1, 0xf1bf97a9, 0x00405fce, 0x10000010},
                                        {0x20, 0, 0, 0},
                                        0x75c237ff,
                                        0x2e7};

#define OSXSAVE (1u << 27)
#define XSAVE (1u << 26)
#define NEHALEM_NAMES "sse2 sse3 ssse3 sse4.1 sse4.2 popcnt"
#define HASWELL_NAMES NEHALEM_NAMES " movbe avx f16c fma bmi1 bmi2 lzcnt avx2"
#define XSAVE_OFF                                                                                  \
    "the operating system does not save its registers: XSAVE is off (CPUID.1:ECX[27] OSXSAVE is "  \
    "0)"

static void assert_usable(const struct cpu_features *features, const char *names)
{
    char text[512];

    assert_string_equal(usable_names(features, text), names);
}

static void assert_reason(const struct cpu_features *features, const char *name, bool present,
                          const char *reason)
{
    const struct feature_state *feature = feature_find(features, name);

    assert_false(feature->usable);
    assert_int_equal(feature->present, present);
    assert_int_equal(features->words[feature->word] & feature->mask, 0);
    assert_string_equal(feature->reason, reason);
}

/* --- x86 -------------------------------------------------------------------------------------- */

static void an_old_cpu_has_what_its_bits_say(void **state)
{
    struct cpu_features features;

    (void)state;
    x86_features(&nehalem, &features);
    assert_usable(&features, NEHALEM_NAMES);
    assert_int_equal(features.words[0], 0x3f);
    assert_int_equal(features.words[1], 0);
    assert_reason(&features, "avx", false, "the CPU does not have it (CPUID.1:ECX[28] is 0)");
    assert_reason(&features, "avx2", false, "the CPU does not have it (CPUID.7.0:EBX[5] is 0)");
    assert_reason(&features, "lzcnt", false,
                  "the CPU does not have it (CPUID.0x80000001:ECX[5] is 0)");
    assert_reason(&features, "avx-vnni", false,
                  "the CPU does not have it (there is no CPUID.7.1:EAX[4]: CPUID.7.0:EAX is 0x0)");
}

static void features_are_listed_in_the_order_of_the_abi_header(void **state)
{
    static const struct {
        const char *name;
        uint32_t word, mask;
    } expected[] = {
#define ROW(IDENTIFIER, NAME, WORD, BIT) {NAME, WORD, 1u << BIT},
        QKERN_X86_FEATURES(ROW)
#undef ROW
    };
    struct cpu_features features;

    (void)state;
    x86_features(&sapphire_rapids, &features);
    assert_int_equal(features.arch, QKERN_ARCH_X86_64);
    assert_int_equal(features.count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < features.count; i++) {
        assert_string_equal(features.list[i].name, expected[i].name);
        assert_int_equal(features.list[i].word, expected[i].word);
        assert_int_equal(features.list[i].mask, expected[i].mask);
    }
}

static void a_haswell_has_avx2(void **state)
{
    struct cpu_features features;

    (void)state;
    x86_features(&haswell, &features);
    assert_usable(&features, HASWELL_NAMES);
    assert_string_equal(feature_find(&features, "avx2")->source, "CPUID.7.0:EBX[5], XCR0[2:1]");
    assert_string_equal(feature_find(&features, "avx2")->reason, "");
    assert_true(feature_find(&features, "avx2")->present);
    assert_string_equal(feature_find(&features, "bmi2")->source, "CPUID.7.0:EBX[8]");
    assert_string_equal(feature_find(&features, "avx512f")->source,
                        "CPUID.7.0:EBX[16], XCR0[7:5,2:1]");
    assert_string_equal(feature_find(&features, "amx-int8")->source,
                        "CPUID.7.0:EDX[25], XCR0[18:17]");
}

static void without_xsave_avx_is_unusable_and_the_reason_names_it(void **state)
{
    static const char *const names[] = {"avx", "f16c", "fma", "avx2"};
    struct x86_machine machine = haswell;
    struct cpu_features features;

    (void)state;
    machine.leaf1_ecx &= ~(OSXSAVE | XSAVE);
    x86_features(&machine, &features);
    assert_usable(&features, NEHALEM_NAMES " movbe bmi1 bmi2 lzcnt");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_reason(&features, names[i], false, XSAVE_OFF);
}

static void with_xsave_but_avx_state_off_avx_is_unusable(void **state)
{
    static const struct {
        uint64_t xcr0;
        const char *reason;
    } rows[] = {
        {1, "the operating system does not save the AVX state (XCR0 is 0x1, needs bits 1 and 2)"},
        {3, "the operating system does not save the AVX state (XCR0 is 0x3, needs bits 1 and 2)"},
        {5, "the operating system does not save the AVX state (XCR0 is 0x5, needs bits 1 and 2)"},
    };
    struct x86_machine machine = haswell;
    struct cpu_features features;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        machine.xcr0 = rows[i].xcr0;
        x86_features(&machine, &features);
        assert_usable(&features, NEHALEM_NAMES " movbe bmi1 bmi2 lzcnt");
        assert_reason(&features, "avx2", false, rows[i].reason);
    }
}

static void avx512_needs_each_bit_of_its_state(void **state)
{
    static const uint64_t bits[] = {0x2, 0x4, 0x20, 0x40, 0x80};
    struct x86_machine machine = sapphire_rapids;
    struct cpu_features features;

    (void)state;
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        machine.xcr0 = 0xe7 & ~bits[i];
        x86_features(&machine, &features);
        assert_int_equal(features.words[1], 0);
    }
    machine.xcr0 = 0x7;
    x86_features(&machine, &features);
    assert_true(feature_find(&features, "avx2")->usable);
    assert_reason(&features, "avx512f", false,
                  "the operating system does not save the AVX-512 state (XCR0 is 0x7, needs bits "
                  "1, 2, 5, 6 and 7)");
}

static void amx_needs_both_bits_of_its_state(void **state)
{
    static const uint64_t values[] = {0xe7, 0x200e7, 0x400e7};
    struct x86_machine machine = sapphire_rapids;
    struct cpu_features features;

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        machine.xcr0 = values[i];
        x86_features(&machine, &features);
        assert_true(feature_find(&features, "avx512fp16")->usable);
        assert_false(feature_find(&features, "amx-tile")->usable);
        assert_false(feature_find(&features, "amx-int8")->usable);
        assert_non_null(strstr(feature_find(&features, "amx-bf16")->reason, "AMX state"));
    }
}

static void avx2_does_not_imply_fma(void **state)
{
    struct x86_machine machine = haswell;
    struct cpu_features features;

    (void)state;
    machine.leaf1_ecx &= ~(1u << 12);
    x86_features(&machine, &features);
    assert_usable(&features, NEHALEM_NAMES " movbe avx f16c bmi1 bmi2 lzcnt avx2");
    assert_reason(&features, "fma", false, "the CPU does not have it (CPUID.1:ECX[12] is 0)");
}

static void avx512f_does_not_imply_vl(void **state)
{
    struct cpu_features features;

    (void)state;
    x86_features(&knights_landing, &features);
    assert_usable(&features, HASWELL_NAMES " avx512f avx512cd");
    assert_reason(&features, "avx512vl", false,
                  "the CPU does not have it (CPUID.7.0:EBX[31] is 0)");
}

static void a_sapphire_rapids_has_avx512_and_amx(void **state)
{
    struct cpu_features features;

    (void)state;
    x86_features(&sapphire_rapids, &features);
    assert_usable(&features, HASWELL_NAMES
                  " avx-vnni gfni vaes avx512f avx512cd avx512bw avx512dq avx512vl avx512ifma "
                  "avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512bf16 "
                  "avx512fp16 amx-tile amx-int8 amx-bf16");
}

static void a_zen4_has_avx512_without_avx_vnni(void **state)
{
    struct cpu_features features;

    (void)state;
    x86_features(&zen4, &features);
    assert_usable(&features, HASWELL_NAMES
                  " gfni vaes avx512f avx512cd avx512bw avx512dq avx512vl avx512ifma avx512vbmi "
                  "avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512bf16");
}

static void leaves_beyond_the_maximum_are_not_asked(void **state)
{
    struct x86_machine machine = sapphire_rapids;
    struct cpu_features features;

    (void)state;
    machine.basic_limit = 1;
    x86_features(&machine, &features);
    assert_usable(&features, NEHALEM_NAMES " movbe avx f16c fma lzcnt");
    assert_reason(&features, "avx2", false,
                  "the CPU does not have it (there is no CPUID.7.0:EBX[5]: CPUID.0:EAX is 0x1)");
    assert_reason(&features, "avx-vnni", false,
                  "the CPU does not have it (there is no CPUID.7.1:EAX[4]: CPUID.0:EAX is 0x1)");

    machine.basic_limit = 0;
    machine.extended_limit = 0x80000000u;
    x86_features(&machine, &features);
    assert_usable(&features, "");
    assert_reason(&features, "lzcnt", false,
                  "the CPU does not have it (there is no CPUID.0x80000001:ECX[5]: "
                  "CPUID.0x80000000:EAX is 0x80000000)");
}

static void every_bit_is_read_by_itself(void **state)
{
    struct x86_machine machine = sapphire_rapids;
    struct cpu_features all, features;

    (void)state;
    machine.leaf7_1[0] |= 1u << 23;
    machine.leaf7_1[3] |= 1u << 4 | 1u << 5 | 1u << 10;
    x86_features(&machine, &all);
    for (uint32_t i = 0; i < all.count; i++)
        assert_true(all.list[i].usable);

    /* Taking one bit of a register away takes at most one feature away, and 37 in all. */
    uint32_t *const registers[] = {
        &machine.leaf1_ecx, &machine.leaf1_edx,  &machine.leaf7[1],   &machine.leaf7[2],
        &machine.leaf7[3],  &machine.leaf7_1[0], &machine.leaf7_1[3], &machine.extended_ecx,
    };
    uint32_t taken = 0;
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            const uint32_t mask = 1u << bit;
            uint32_t missing = 0;

            if ((*registers[i] & mask) == 0 || (registers[i] == &machine.leaf1_ecx && bit == 27))
                continue;
            *registers[i] &= ~mask;
            x86_features(&machine, &features);
            *registers[i] |= mask;
            for (uint32_t k = 0; k < features.count; k++)
                missing += !features.list[k].usable;
            assert_in_range(missing, 0, 1);
            taken += missing;
        }
    }
    assert_int_equal(taken, all.count);
}

static void darwin_on_x86_reads_the_same_bits(void **state)
{
    struct x86_machine machine = zen4;
    const struct cpu_source source = {.arch = QKERN_ARCH_X86_64,
                                      .os = CPU_OS_DARWIN,
                                      .context = &machine,
                                      .cpuid = play_cpuid,
                                      .xgetbv = play_xgetbv};
    struct cpu_features darwin, linux_features;

    (void)state;
    features_detect(&source, &darwin);
    x86_features(&zen4, &linux_features);
    assert_memory_equal(darwin.words, linux_features.words, sizeof darwin.words);
    assert_int_equal(darwin.count, linux_features.count);
}

/* --- Arm -------------------------------------------------------------------------------------- */

struct arm_machine {
    uint64_t hwcap, hwcap2;
};

static uint64_t play_auxval(void *context, uint64_t type)
{
    const struct arm_machine *machine = context;

    assert_true(type == 16 || type == 26);
    return type == 16 ? machine->hwcap : machine->hwcap2;
}

static void arm_features(struct arm_machine machine, struct cpu_features *features)
{
    const struct cpu_source source = {
        .arch = QKERN_ARCH_AARCH64, .os = CPU_OS_LINUX, .context = &machine, .auxval = play_auxval};

    features_detect(&source, features);
}

static void arm_cpus_have_what_the_kernel_reports(void **state)
{
    static const struct {
        const char *cpu;
        struct arm_machine machine;
        const char *names;
    } rows[] = {
        {"Cortex-A53", {0x8ff, 0}, "asimd"},
        {"Cortex-A76", {0x119fff, 0}, "asimd fp16 rdm dotprod"},
        {"Neoverse N1", {0x10119fff, 0}, "asimd fp16 rdm dotprod"},
        {"Neoverse V1",
         {0xdfffffff, 0x1f381},
         "asimd fp16 fhm rdm dotprod i8mm bf16 sve svei8mm svebf16"},
        {"Neoverse N2",
         {0xefffffff, 0x3f3ff},
         "asimd fp16 fhm rdm dotprod i8mm bf16 sve sve2 svei8mm svebf16"},
        {"SME without SVE", {0x119fff, 0x800000}, "asimd fp16 rdm dotprod sme"},
        {"SME2, bit 37, alone", {0x2, 0x2000000000}, "asimd sme2"},
        {"nothing", {0, 0}, ""},
        {"everything",
         {UINT64_MAX, UINT64_MAX},
         "asimd fp16 fhm rdm dotprod i8mm bf16 sve sve2 svei8mm svebf16 sme sme2"},
    };
    struct cpu_features features;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].cpu);
        arm_features(rows[i].machine, &features);
        assert_usable(&features, rows[i].names);
    }
    arm_features((struct arm_machine){0x8ff, 0}, &features);
    assert_string_equal(feature_find(&features, "i8mm")->source, "AT_HWCAP2[13] I8MM");
    assert_reason(&features, "dotprod", false,
                  "the CPU or the operating system does not have it (AT_HWCAP[20] ASIMDDP is 0)");
}

struct sysctl_entry {
    const char *name;
    int64_t value;
};

static bool play_sysctl(void *context, const char *name, int64_t *value)
{
    assert_true(name[0] != '\0');
    for (const struct sysctl_entry *entry = context; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            *value = entry->value;
            return true;
        }
    }
    return false;
}

static void an_apple_cpu_has_what_sysctl_names(void **state)
{
    static struct sysctl_entry m1[] = {
        {"hw.optional.AdvSIMD", 1},          {"hw.optional.arm.FEAT_FP16", 1},
        {"hw.optional.arm.FEAT_FHM", 1},     {"hw.optional.arm.FEAT_RDM", 1},
        {"hw.optional.arm.FEAT_DotProd", 1}, {"hw.optional.arm.FEAT_I8MM", 0},
        {"hw.optional.arm.FEAT_BF16", 0},    {NULL, 0},
    };
    static struct sysctl_entry m4[] = {
        {"hw.optional.AdvSIMD", 1},          {"hw.optional.arm.FEAT_FP16", 1},
        {"hw.optional.arm.FEAT_FHM", 1},     {"hw.optional.arm.FEAT_RDM", 1},
        {"hw.optional.arm.FEAT_DotProd", 1}, {"hw.optional.arm.FEAT_I8MM", 1},
        {"hw.optional.arm.FEAT_BF16", 1},    {"hw.optional.arm.FEAT_SME", 1},
        {"hw.optional.arm.FEAT_SME2", 1},    {NULL, 0},
    };
    struct cpu_source source = {
        .arch = QKERN_ARCH_AARCH64, .os = CPU_OS_DARWIN, .context = m1, .sysctl = play_sysctl};
    struct cpu_features features;

    (void)state;
    features_detect(&source, &features);
    assert_usable(&features, "asimd fp16 fhm rdm dotprod");
    assert_string_equal(feature_find(&features, "dotprod")->source, "hw.optional.arm.FEAT_DotProd");
    assert_reason(&features, "i8mm", false,
                  "the CPU does not have it (hw.optional.arm.FEAT_I8MM is 0)");
    assert_reason(&features, "sme", false,
                  "the operating system does not know it (there is no hw.optional.arm.FEAT_SME)");
    assert_reason(&features, "svei8mm", false, "the operating system has no name to ask for it");

    source.context = m4;
    features_detect(&source, &features);
    assert_usable(&features, "asimd fp16 fhm rdm dotprod i8mm bf16 sme sme2");
}

static void an_unknown_architecture_has_no_features(void **state)
{
    const struct cpu_source source = {.arch = QKERN_ARCH_NONE, .os = CPU_OS_LINUX};
    struct cpu_features features;

    (void)state;
    memset(&features, 0xff, sizeof features);
    features_detect(&source, &features);
    assert_int_equal(features.count, 0);
    assert_int_equal(features.words[0], 0);
}

/* --- masks ------------------------------------------------------------------------------------ */

static void a_mask_takes_features_away(void **state)
{
    static const struct {
        const char *specification, *names;
    } rows[] = {
        {"-avx2,-fma", NEHALEM_NAMES " movbe avx f16c bmi1 bmi2 lzcnt"},
        {"  -avx2 ,, -fma ,", NEHALEM_NAMES " movbe avx f16c bmi1 bmi2 lzcnt"},
        {"-AVX2,-Fma", NEHALEM_NAMES " movbe avx f16c bmi1 bmi2 lzcnt"},
        {"-avx2,-avx2", NEHALEM_NAMES " movbe avx f16c fma bmi1 bmi2 lzcnt"},
        {"-sse4.1", "sse2 sse3 ssse3 sse4.2 popcnt movbe avx f16c fma bmi1 bmi2 lzcnt avx2"},
        {"-avx512f", HASWELL_NAMES},
        {"", HASWELL_NAMES},
        {" , ", HASWELL_NAMES},
        {NULL, HASWELL_NAMES},
    };
    struct cpu_features features;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x86_features(&haswell, &features);
        assert_int_equal(features_mask(&features, rows[i].specification, NULL), QKERN_OK);
        assert_usable(&features, rows[i].names);
    }
    x86_features(&haswell, &features);
    assert_int_equal(features_mask(&features, "-avx2,-avx512f", NULL), QKERN_OK);
    assert_reason(&features, "avx2", true, "masked by QKERN_FEATURES");
    assert_reason(&features, "avx512f", false, /* what is not there cannot be masked */
                  "the CPU does not have it (CPUID.7.0:EBX[16] is 0)");
}

static void an_unknown_word_masks_nothing_and_names_the_known(void **state)
{
    static const struct {
        const char *specification, *shown;
    } rows[] = {
        {"-avx2,-avx3", "\"-avx3\""},
        {"-avx2,avx2", "\"avx2\""},
        {"-avx2,+fma", "\"+fma\""},
        {"-avx2,-", "\"-\""},
        {"-avx2 -fma", "\"-avx2 -fma\""},
        {"-AVX22", "\"-AVX22\""},
        {"-avx2,-f\nma\x80", "\"-f\\x0ama\\x80\""},
        {"-avx2,-aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg",
         "\"-aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg...\""},
    };
    struct cpu_features features;

    (void)state;
    x86_features(&haswell, &features);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qkern_error error = QKERN_ERROR_INIT;

        assert_int_equal(features_mask(&features, rows[i].specification, &error),
                         QKERN_E_ENVIRONMENT);
        assert_usable(&features, HASWELL_NAMES);
        assert_int_equal(error.status, QKERN_E_ENVIRONMENT);
        assert_non_null(strstr(error.message, "QKERN_FEATURES"));
        assert_non_null(strstr(error.message, rows[i].shown));
        assert_non_null(strstr(error.message, " sse2 sse3 "));
        assert_non_null(strstr(error.message, " amx-bf16")); /* the last one: nothing is cut */
    }
}

/* --- tiers ------------------------------------------------------------------------------------ */

static void a_tier_is_known_by_the_name_of_its_instruction_set(void **state)
{
    static const struct {
        uint32_t arch;
        const char *name;
        uint32_t tier;
    } rows[] = {
        {QKERN_ARCH_X86_64, "scalar", 0},   {QKERN_ARCH_X86_64, "sse2", 100},
        {QKERN_ARCH_X86_64, "avx2", 200},   {QKERN_ARCH_X86_64, "avxvnni", 300},
        {QKERN_ARCH_X86_64, "avx512", 400}, {QKERN_ARCH_AARCH64, "scalar", 0},
        {QKERN_ARCH_AARCH64, "neon", 100},  {QKERN_ARCH_AARCH64, "dotprod", 200},
        {QKERN_ARCH_AARCH64, "i8mm", 300},  {QKERN_ARCH_X86_64, "AVX2", 200},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t tier = 12345;

        assert_int_equal(features_tier(rows[i].arch, rows[i].name, &tier, NULL), QKERN_OK);
        assert_int_equal(tier, rows[i].tier);
    }
}

static void an_unknown_tier_names_those_of_the_architecture(void **state)
{
    static const struct {
        uint32_t arch;
        const char *name, *message;
    } rows[] = {
        {QKERN_ARCH_X86_64, "neon",
         "QKERN_MAX_ISA: \"neon\" is not one of: scalar sse2 avx2 avxvnni avx512"},
        {QKERN_ARCH_AARCH64, "avx2",
         "QKERN_MAX_ISA: \"avx2\" is not one of: scalar neon dotprod i8mm"},
        {QKERN_ARCH_AARCH64, "", "QKERN_MAX_ISA: \"\" is not one of: scalar neon dotprod i8mm"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qkern_error error = QKERN_ERROR_INIT;
        uint32_t tier = 12345;

        assert_int_equal(features_tier(rows[i].arch, rows[i].name, &tier, &error),
                         QKERN_E_ENVIRONMENT);
        assert_int_equal(tier, 12345);
        assert_string_equal(error.message, rows[i].message);
    }
}

/* --- needs ------------------------------------------------------------------------------------ */

static void needs_that_are_met_are_covered(void **state)
{
    const uint32_t nothing[QKERN_FEATURE_WORDS] = {0};
    const uint32_t avx2[QKERN_FEATURE_WORDS] = {QKERN_X86_AVX2 | QKERN_X86_FMA | QKERN_X86_F16C};
    struct cpu_features features;
    char text[64] = "untouched";

    (void)state;
    x86_features(&haswell, &features);
    assert_true(features_cover(&features, nothing, text, sizeof text));
    assert_true(features_cover(&features, avx2, text, sizeof text));
    assert_string_equal(text, "untouched");
}

static void each_missing_need_is_named_with_its_reason(void **state)
{
    const uint32_t needed[QKERN_FEATURE_WORDS] = {
        QKERN_X86_AVX2 | QKERN_X86_FMA | QKERN_X86_F16C | QKERN_X86_SSE2, QKERN_X86_AVX512VL};
    struct x86_machine machine = haswell;
    struct cpu_features features;
    char text[512];

    (void)state;
    machine.leaf1_ecx &= ~OSXSAVE;
    x86_features(&machine, &features);
    assert_false(features_cover(&features, needed, text, sizeof text));
    assert_string_equal(text, "needs f16c, fma, avx2: " XSAVE_OFF
                              "; avx512vl: the CPU does not have it (CPUID.7.0:EBX[31] is 0)");

    x86_features(&nehalem, &features);
    assert_false(features_cover(&features, needed, text, sizeof text));
    assert_string_equal(text, "needs f16c, fma, avx2, avx512vl: the CPU does not have it "
                              "(CPUID.1:ECX[29] is 0; CPUID.1:ECX[12] is 0; CPUID.7.0:EBX[5] is "
                              "0; CPUID.7.0:EBX[31] is 0)");

    x86_features(&haswell, &features);
    assert_int_equal(features_mask(&features, "-fma,-avx2", NULL), QKERN_OK);
    assert_false(features_cover(&features, needed, text, sizeof text));
    assert_string_equal(text, "needs fma, avx2: masked by QKERN_FEATURES"
                              "; avx512vl: the CPU does not have it (CPUID.7.0:EBX[31] is 0)");
}

static void an_unknown_need_is_never_covered(void **state)
{
    struct cpu_features features;
    char text[512];

    (void)state;
    x86_features(&sapphire_rapids, &features);
    for (uint32_t word = 0; word < QKERN_FEATURE_WORDS; word++) {
        uint32_t needed[QKERN_FEATURE_WORDS] = {0};
        char expected[128];

        needed[word] = 1u << 31;
        snprintf(expected, sizeof expected,
                 "needs bit 31 of feature word %u, which this libqkern does not know", word);
        assert_false(features_cover(&features, needed, text, sizeof text));
        assert_string_equal(text, expected);
    }
    assert_false(features_cover(&features, (uint32_t[QKERN_FEATURE_WORDS]){1u << 15, 0, 3}, text,
                                sizeof text));
    assert_string_equal(text, "needs bit 0 of feature word 2, which this libqkern does not know; "
                              "bit 1 of feature word 2, which this libqkern does not know; "
                              "avx-vnni-int8: the CPU does not have it (CPUID.7.1:EDX[4] is 0)");
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    const uint32_t needed[QKERN_FEATURE_WORDS] = {QKERN_X86_AVX2, 0, 1};
    struct cpu_features features;
    char text[16];

    (void)state;
    x86_features(&nehalem, &features);
    memset(text, 'x', sizeof text);
    assert_false(features_cover(&features, needed, text, 8));
    assert_string_equal(text, "needs b");
    assert_int_equal(text[8], 'x');
    assert_false(features_cover(&features, needed, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_cpu_has_what_its_bits_say),
        cmocka_unit_test(features_are_listed_in_the_order_of_the_abi_header),
        cmocka_unit_test(a_haswell_has_avx2),
        cmocka_unit_test(without_xsave_avx_is_unusable_and_the_reason_names_it),
        cmocka_unit_test(with_xsave_but_avx_state_off_avx_is_unusable),
        cmocka_unit_test(avx512_needs_each_bit_of_its_state),
        cmocka_unit_test(amx_needs_both_bits_of_its_state),
        cmocka_unit_test(avx2_does_not_imply_fma),
        cmocka_unit_test(avx512f_does_not_imply_vl),
        cmocka_unit_test(a_sapphire_rapids_has_avx512_and_amx),
        cmocka_unit_test(a_zen4_has_avx512_without_avx_vnni),
        cmocka_unit_test(leaves_beyond_the_maximum_are_not_asked),
        cmocka_unit_test(every_bit_is_read_by_itself),
        cmocka_unit_test(darwin_on_x86_reads_the_same_bits),
        cmocka_unit_test(arm_cpus_have_what_the_kernel_reports),
        cmocka_unit_test(an_apple_cpu_has_what_sysctl_names),
        cmocka_unit_test(an_unknown_architecture_has_no_features),
        cmocka_unit_test(a_mask_takes_features_away),
        cmocka_unit_test(an_unknown_word_masks_nothing_and_names_the_known),
        cmocka_unit_test(a_tier_is_known_by_the_name_of_its_instruction_set),
        cmocka_unit_test(an_unknown_tier_names_those_of_the_architecture),
        cmocka_unit_test(needs_that_are_met_are_covered),
        cmocka_unit_test(each_missing_need_is_named_with_its_reason),
        cmocka_unit_test(an_unknown_need_is_never_covered),
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
