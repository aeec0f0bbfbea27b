/* SPDX-License-Identifier: MIT */
/*
 * Feature detection: a table for each way of asking, one row a feature in the order of
 * qkern/features.h.
 *
 * The rules on x86. A CPUID bit says that the CPU has the instructions. Registers that are wider
 * than those of SSE are usable only if the operating system saves them when it switches threads: it
 * says so by turning XSAVE on (OSXSAVE) and naming the parts of the state in XCR0. Instructions on
 * general registers (BMI1, BMI2, LZCNT) and on SSE registers (GFNI has such forms) need no more
 * than their bit. On Arm the kernel answers for CPU and system together.
 */
#include "cpu_features.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "error.h"

/* --- lines of text ---------------------------------------------------------------------------- */

/* A text that is written piece by piece and cut at its end if it is too long. */
struct line {
    char *text;
    size_t size;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
                                                           ...)
{
    if (line->used >= line->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)length;
}

/* --- x86 -------------------------------------------------------------------------------------- */

enum { EAX, EBX, ECX, EDX };

enum cpuid_leaf { LEAF_1, LEAF_7_0, LEAF_7_1, LEAF_80000001, LEAF_COUNT };
#define LEAF_1_TEXT "CPUID.1"
#define LEAF_7_0_TEXT "CPUID.7.0"
#define LEAF_7_1_TEXT "CPUID.7.1"
#define LEAF_80000001_TEXT "CPUID.0x80000001"

/* The parts of the register state that the operating system must save. */
enum cpu_state { STATE_SSE, STATE_AVX, STATE_AVX512, STATE_AMX, STATE_COUNT };
#define STATE_SSE_TEXT ""
#define STATE_AVX_TEXT ", XCR0[2:1]"
#define STATE_AVX512_TEXT ", XCR0[7:5,2:1]"
#define STATE_AMX_TEXT ", XCR0[18:17]"

static const struct {
    uint64_t xcr0;
    const char *name;
    const char *bits;
} states[STATE_COUNT] = {
    [STATE_SSE] = {0, "SSE", ""}, /* part of x86-64: always saved */
    [STATE_AVX] = {0x6, "AVX", "1 and 2"},
    [STATE_AVX512] = {0xe6, "AVX-512", "1, 2, 5, 6 and 7"},
    [STATE_AMX] = {0x60000, "AMX", "17 and 18"},
};

/* X(identifier, leaf, register, bit, state) */
#define CPUID_BITS(X)                                                                              \
    X(SSE2, 1, EDX, 26, SSE)                                                                       \
    X(SSE3, 1, ECX, 0, SSE)                                                                        \
    X(SSSE3, 1, ECX, 9, SSE)                                                                       \
    X(SSE4_1, 1, ECX, 19, SSE)                                                                     \
    X(SSE4_2, 1, ECX, 20, SSE)                                                                     \
    X(POPCNT, 1, ECX, 23, SSE)                                                                     \
    X(MOVBE, 1, ECX, 22, SSE)                                                                      \
    X(AVX, 1, ECX, 28, AVX)                                                                        \
    X(F16C, 1, ECX, 29, AVX)                                                                       \
    X(FMA, 1, ECX, 12, AVX)                                                                        \
    X(BMI1, 7_0, EBX, 3, SSE)                                                                      \
    X(BMI2, 7_0, EBX, 8, SSE)                                                                      \
    X(LZCNT, 80000001, ECX, 5, SSE)                                                                \
    X(AVX2, 7_0, EBX, 5, AVX)                                                                      \
    X(AVX_VNNI, 7_1, EAX, 4, AVX)                                                                  \
    X(AVX_VNNI_INT8, 7_1, EDX, 4, AVX)                                                             \
    X(AVX_VNNI_INT16, 7_1, EDX, 10, AVX)                                                           \
    X(AVX_NE_CONVERT, 7_1, EDX, 5, AVX)                                                            \
    X(AVX_IFMA, 7_1, EAX, 23, AVX)                                                                 \
    X(GFNI, 7_0, ECX, 8, SSE)                                                                      \
    X(VAES, 7_0, ECX, 9, AVX)                                                                      \
    X(AVX512F, 7_0, EBX, 16, AVX512)                                                               \
    X(AVX512CD, 7_0, EBX, 28, AVX512)                                                              \
    X(AVX512BW, 7_0, EBX, 30, AVX512)                                                              \
    X(AVX512DQ, 7_0, EBX, 17, AVX512)                                                              \
    X(AVX512VL, 7_0, EBX, 31, AVX512)                                                              \
    X(AVX512IFMA, 7_0, EBX, 21, AVX512)                                                            \
    X(AVX512VBMI, 7_0, ECX, 1, AVX512)                                                             \
    X(AVX512VBMI2, 7_0, ECX, 6, AVX512)                                                            \
    X(AVX512VNNI, 7_0, ECX, 11, AVX512)                                                            \
    X(AVX512BITALG, 7_0, ECX, 12, AVX512)                                                          \
    X(AVX512VPOPCNTDQ, 7_0, ECX, 14, AVX512)                                                       \
    X(AVX512BF16, 7_1, EAX, 5, AVX512)                                                             \
    X(AVX512FP16, 7_0, EDX, 23, AVX512)                                                            \
    X(AMX_TILE, 7_0, EDX, 24, AMX)                                                                 \
    X(AMX_INT8, 7_0, EDX, 25, AMX)                                                                 \
    X(AMX_BF16, 7_0, EDX, 22, AMX)

struct cpuid_row {
    enum cpuid_leaf leaf;
    uint32_t reg;
    uint32_t bit;
    enum cpu_state state;
    const char *where;
    const char *source;
};

#define CPUID_WHERE(LEAF, REGISTER, BIT) LEAF_##LEAF##_TEXT ":" #REGISTER "[" #BIT "]"
#define CPUID_ROW(IDENTIFIER, LEAF, REGISTER, BIT, STATE)                                          \
    {LEAF_##LEAF,                                                                                  \
     REGISTER,                                                                                     \
     BIT,                                                                                          \
     STATE_##STATE,                                                                                \
     CPUID_WHERE(LEAF, REGISTER, BIT),                                                             \
     CPUID_WHERE(LEAF, REGISTER, BIT) STATE_##STATE##_TEXT},
static const struct cpuid_row cpuid_rows[] = {CPUID_BITS(CPUID_ROW)};

struct cpuid_answer {
    bool there;
    uint32_t registers[4];
    char absent[64]; /* why it is not there */
};

/* What a CPU and its system answered, each question asked once and only if it may be asked. */
struct x86_answers {
    struct cpuid_answer leaves[LEAF_COUNT];
    bool osxsave;
    uint64_t xcr0;
};

/* Asks a leaf, or writes down that `limit`, the value of `limit_name`, rules it out. */
static void leaf_ask(const struct cpu_source *source, struct cpuid_answer *answer, uint32_t leaf,
                     uint32_t subleaf, const char *limit_name, bool within, uint32_t limit)
{
    answer->there = within;
    if (within)
        source->cpuid(source->context, leaf, subleaf, answer->registers);
    else
        snprintf(answer->absent, sizeof answer->absent, "%s is 0x%" PRIx32, limit_name, limit);
}

/* Fills in answers, which are zero. */
static void x86_ask(const struct cpu_source *source, struct x86_answers *answers)
{
    struct cpuid_answer *leaves = answers->leaves;
    uint32_t basic[4], extended[4];

    source->cpuid(source->context, 0, 0, basic);
    source->cpuid(source->context, 0x80000000u, 0, extended);
    leaf_ask(source, &leaves[LEAF_1], 1, 0, "CPUID.0:EAX", basic[EAX] >= 1, basic[EAX]);
    leaf_ask(source, &leaves[LEAF_7_0], 7, 0, "CPUID.0:EAX", basic[EAX] >= 7, basic[EAX]);
    leaf_ask(source, &leaves[LEAF_80000001], 0x80000001u, 0, "CPUID.0x80000000:EAX",
             extended[EAX] >= 0x80000001u, extended[EAX]);
    if (leaves[LEAF_7_0].there) {
        const uint32_t subleaves = leaves[LEAF_7_0].registers[EAX];

        leaf_ask(source, &leaves[LEAF_7_1], 7, 1, "CPUID.7.0:EAX", subleaves >= 1, subleaves);
    } else {
        leaves[LEAF_7_1] = leaves[LEAF_7_0];
    }
    answers->osxsave = (leaves[LEAF_1].registers[ECX] >> 27 & 1) != 0;
    if (answers->osxsave)
        answers->xcr0 = source->xgetbv(source->context, 0);
}

/* Why a feature is not there; nothing is added if it is. */
static void x86_judge(const struct x86_answers *answers, const struct cpuid_row *row,
                      struct line *reason)
{
    const uint64_t needed = states[row->state].xcr0;

    if (!answers->leaves[row->leaf].there)
        line_add(reason, "the CPU does not have it (there is no %s: %s)", row->where,
                 answers->leaves[row->leaf].absent);
    else if ((answers->leaves[row->leaf].registers[row->reg] >> row->bit & 1) == 0)
        line_add(reason, "the CPU does not have it (%s is 0)", row->where);
    else if (needed != 0 && !answers->osxsave)
        line_add(reason, "the operating system does not save its registers: XSAVE is off "
                         "(CPUID.1:ECX[27] OSXSAVE is 0)");
    else if ((answers->xcr0 & needed) != needed)
        line_add(reason,
                 "the operating system does not save the %s state (XCR0 is 0x%" PRIx64
                 ", needs bits %s)",
                 states[row->state].name, answers->xcr0, states[row->state].bits);
}

static void x86_detect(const struct cpu_source *source, struct cpu_features *out)
{
    struct x86_answers answers = {0};

    x86_ask(source, &answers);
    for (uint32_t i = 0; i < out->count; i++) {
        struct feature_state *feature = &out->list[i];

        feature->source = cpuid_rows[i].source;
        x86_judge(&answers, &cpuid_rows[i],
                  &(struct line){feature->reason, sizeof feature->reason, 0});
    }
}

/* --- Arm on Linux ----------------------------------------------------------------------------- */

/* Said here because other systems' headers lack them. */
#define AUXV_HWCAP 16
#define AUXV_HWCAP2 26
#define AUXV_HWCAP_TEXT "AT_HWCAP"
#define AUXV_HWCAP2_TEXT "AT_HWCAP2"

/* X(identifier, vector entry, bit, the kernel's name for it) */
#define HWCAP_BITS(X)                                                                              \
    X(ASIMD, HWCAP, 1, "ASIMD")                                                                    \
    X(FP16, HWCAP, 10, "ASIMDHP")                                                                  \
    X(FHM, HWCAP, 23, "ASIMDFHM")                                                                  \
    X(RDM, HWCAP, 12, "ASIMDRDM")                                                                  \
    X(DOTPROD, HWCAP, 20, "ASIMDDP")                                                               \
    X(I8MM, HWCAP2, 13, "I8MM")                                                                    \
    X(BF16, HWCAP2, 14, "BF16")                                                                    \
    X(SVE, HWCAP, 22, "SVE")                                                                       \
    X(SVE2, HWCAP2, 1, "SVE2")                                                                     \
    X(SVEI8MM, HWCAP2, 9, "SVEI8MM")                                                               \
    X(SVEBF16, HWCAP2, 12, "SVEBF16")                                                              \
    X(SME, HWCAP2, 23, "SME")                                                                      \
    X(SME2, HWCAP2, 37, "SME2")

struct hwcap_row {
    uint64_t type;
    uint32_t bit;
    const char *source;
};

#define HWCAP_ROW(IDENTIFIER, ENTRY, BIT, NAME)                                                    \
    {AUXV_##ENTRY, BIT, AUXV_##ENTRY##_TEXT "[" #BIT "] " NAME},
static const struct hwcap_row hwcap_rows[] = {HWCAP_BITS(HWCAP_ROW)};

static void hwcap_detect(const struct cpu_source *source, struct cpu_features *out)
{
    const uint64_t hwcap = source->auxval(source->context, AUXV_HWCAP);
    const uint64_t hwcap2 = source->auxval(source->context, AUXV_HWCAP2);

    for (uint32_t i = 0; i < out->count; i++) {
        const struct hwcap_row *row = &hwcap_rows[i];
        struct feature_state *feature = &out->list[i];

        feature->source = row->source;
        if (((row->type == AUXV_HWCAP ? hwcap : hwcap2) >> row->bit & 1) == 0)
            snprintf(feature->reason, sizeof feature->reason,
                     "the CPU or the operating system does not have it (%s is 0)", row->source);
    }
}

/* --- Arm on Darwin ---------------------------------------------------------------------------- */

/*
 * X(identifier, name). Arm has no names of its own for the two that are "": they are FEAT_I8MM and
 * FEAT_BF16 together with FEAT_SVE, and nothing here is concluded from other features.
 */
#define SYSCTL_NAMES(X)                                                                            \
    X(ASIMD, "hw.optional.AdvSIMD")                                                                \
    X(FP16, "hw.optional.arm.FEAT_FP16")                                                           \
    X(FHM, "hw.optional.arm.FEAT_FHM")                                                             \
    X(RDM, "hw.optional.arm.FEAT_RDM")                                                             \
    X(DOTPROD, "hw.optional.arm.FEAT_DotProd")                                                     \
    X(I8MM, "hw.optional.arm.FEAT_I8MM")                                                           \
    X(BF16, "hw.optional.arm.FEAT_BF16")                                                           \
    X(SVE, "hw.optional.arm.FEAT_SVE")                                                             \
    X(SVE2, "hw.optional.arm.FEAT_SVE2")                                                           \
    X(SVEI8MM, "")                                                                                 \
    X(SVEBF16, "")                                                                                 \
    X(SME, "hw.optional.arm.FEAT_SME")                                                             \
    X(SME2, "hw.optional.arm.FEAT_SME2")

#define SYSCTL_ROW(IDENTIFIER, NAME) NAME,
static const char *const sysctl_rows[] = {SYSCTL_NAMES(SYSCTL_ROW)};

static void sysctl_detect(const struct cpu_source *source, struct cpu_features *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        const char *name = sysctl_rows[i];
        struct feature_state *feature = &out->list[i];
        struct line reason = {feature->reason, sizeof feature->reason, 0};
        int64_t value = 0;

        feature->source = name[0] != '\0' ? name : "nothing: the system has no name for it";
        if (name[0] == '\0')
            line_add(&reason, "the operating system has no name to ask for it");
        else if (!source->sysctl(source->context, name, &value))
            line_add(&reason, "the operating system does not know it (there is no %s)", name);
        else if (value == 0)
            line_add(&reason, "the CPU does not have it (%s is 0)", name);
    }
}

/* --- the tables hold every feature, in order -------------------------------------------------- */

struct feature_name {
    const char *name;
    uint32_t word;
    uint32_t mask;
};

#define FEATURE_NAME(IDENTIFIER, NAME, WORD, BIT) {NAME, WORD, 1u << BIT},
static const struct feature_name x86_names[] = {QKERN_X86_FEATURES(FEATURE_NAME)};
static const struct feature_name aarch64_names[] = {QKERN_AARCH64_FEATURES(FEATURE_NAME)};

#define CPUID_AT(IDENTIFIER, LEAF, REGISTER, BIT, STATE) CPUID_AT_##IDENTIFIER,
#define HWCAP_AT(IDENTIFIER, ENTRY, BIT, NAME) HWCAP_AT_##IDENTIFIER,
#define SYSCTL_AT(IDENTIFIER, NAME) SYSCTL_AT_##IDENTIFIER,
#define X86_AT(IDENTIFIER, NAME, WORD, BIT) X86_AT_##IDENTIFIER,
#define AARCH64_AT(IDENTIFIER, NAME, WORD, BIT) AARCH64_AT_##IDENTIFIER,
enum { CPUID_BITS(CPUID_AT) CPUID_AT_END };
enum { HWCAP_BITS(HWCAP_AT) HWCAP_AT_END };
enum { SYSCTL_NAMES(SYSCTL_AT) SYSCTL_AT_END };
enum { QKERN_X86_FEATURES(X86_AT) X86_AT_END };
enum { QKERN_AARCH64_FEATURES(AARCH64_AT) AARCH64_AT_END };

/* A feature without a row does not compile here; one at another place fails the assertion. */
#define X86_CHECK(IDENTIFIER, NAME, WORD, BIT)                                                     \
    _Static_assert((int)CPUID_AT_##IDENTIFIER == (int)X86_AT_##IDENTIFIER, NAME);
#define AARCH64_CHECK(IDENTIFIER, NAME, WORD, BIT)                                                 \
    _Static_assert((int)HWCAP_AT_##IDENTIFIER == (int)AARCH64_AT_##IDENTIFIER, NAME);              \
    _Static_assert((int)SYSCTL_AT_##IDENTIFIER == (int)AARCH64_AT_##IDENTIFIER, NAME);
QKERN_X86_FEATURES(X86_CHECK)
QKERN_AARCH64_FEATURES(AARCH64_CHECK)
_Static_assert((int)CPUID_AT_END == (int)X86_AT_END, "a row more than features");
_Static_assert((int)HWCAP_AT_END == (int)AARCH64_AT_END, "a row more than features");
_Static_assert((int)SYSCTL_AT_END == (int)AARCH64_AT_END, "a row more than features");
_Static_assert((int)X86_AT_END <= FEATURE_LIMIT, "raise FEATURE_LIMIT");
_Static_assert((int)AARCH64_AT_END <= FEATURE_LIMIT, "raise FEATURE_LIMIT");

/* Each source kind: who is asked, and the names of what it answers for. */
static const struct {
    uint32_t arch;
    enum cpu_os os;
    const struct feature_name *names;
    uint32_t count;
    void (*detect)(const struct cpu_source *source, struct cpu_features *out);
} kinds[] = {
    {QKERN_ARCH_X86_64, CPU_OS_LINUX, x86_names, X86_AT_END, x86_detect},
    {QKERN_ARCH_X86_64, CPU_OS_DARWIN, x86_names, X86_AT_END, x86_detect},
    {QKERN_ARCH_AARCH64, CPU_OS_LINUX, aarch64_names, AARCH64_AT_END, hwcap_detect},
    {QKERN_ARCH_AARCH64, CPU_OS_DARWIN, aarch64_names, AARCH64_AT_END, sysctl_detect},
};

void features_detect(const struct cpu_source *source, struct cpu_features *out)
{
    memset(out, 0, sizeof *out);
    out->arch = source->arch;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        if (kinds[kind].arch != source->arch || kinds[kind].os != source->os)
            continue;
        out->count = kinds[kind].count;
        for (uint32_t i = 0; i < out->count; i++) {
            out->list[i].name = kinds[kind].names[i].name;
            out->list[i].word = kinds[kind].names[i].word;
            out->list[i].mask = kinds[kind].names[i].mask;
        }
        kinds[kind].detect(source, out);
    }
    for (uint32_t i = 0; i < out->count; i++) {
        struct feature_state *feature = &out->list[i];

        feature->present = feature->reason[0] == '\0';
        feature->usable = feature->present;
        if (feature->usable)
            out->words[feature->word] |= feature->mask;
    }
}

/* --- masks ------------------------------------------------------------------------------------ */

/* The index of the feature that a word takes away, or count if it is no such word. */
static uint32_t word_feature(const struct cpu_features *features, const char *word, size_t length)
{
    uint32_t i = features->count;

    if (word[0] != '-')
        return i;
    for (i = 0; i < features->count; i++)
        if (strlen(features->list[i].name) == length - 1 &&
            strncasecmp(features->list[i].name, word + 1, length - 1) == 0)
            break;
    return i;
}

static qkern_status mask_refuse(const struct cpu_features *features, const char *word,
                                size_t length, qkern_error *error)
{
    char names[448], quoted[ERROR_QUOTE_BYTES];
    struct line line = {names, sizeof names, 0};

    names[0] = '\0';
    for (uint32_t i = 0; i < features->count; i++)
        line_add(&line, " %s", features->list[i].name);
    return error_set(error, QKERN_E_ENVIRONMENT, QKERN_NO_INDEX,
                     "QKERN_FEATURES: \"%s\": write '-' and a feature's name, as in -avx2,-f16c; "
                     "there are:%s",
                     error_quote(quoted, word, length), names);
}

qkern_status features_mask(struct cpu_features *features, const char *specification,
                           qkern_error *error)
{
    bool masked[FEATURE_LIMIT] = {false};

    for (const char *at = specification; at != NULL && *at != '\0';) {
        const char *word = at + strspn(at, " ");
        const char *end = word + strcspn(word, ",");
        size_t length = (size_t)(end - word);

        while (length > 0 && word[length - 1] == ' ')
            length--;
        if (length > 0) {
            uint32_t feature = word_feature(features, word, length);

            if (feature == features->count)
                return mask_refuse(features, word, length, error);
            masked[feature] = true;
        }
        at = *end == ',' ? end + 1 : end;
    }

    for (uint32_t i = 0; i < features->count; i++) {
        struct feature_state *feature = &features->list[i];

        if (!masked[i] || !feature->usable)
            continue;
        feature->usable = false;
        features->words[feature->word] &= ~feature->mask;
        snprintf(feature->reason, sizeof feature->reason, "masked by QKERN_FEATURES");
    }
    return QKERN_OK;
}

/* --- tiers ------------------------------------------------------------------------------------ */

#define TIER_ROW(IDENTIFIER, NAME, ARCH, TIER) {NAME, ARCH, TIER},
static const struct {
    const char *name;
    uint32_t arch; /* QKERN_ARCH_NONE: on every one */
    uint32_t tier;
} tiers[] = {QKERN_TIERS(TIER_ROW)};

qkern_status features_tier(uint32_t arch, const char *name, uint32_t *tier, qkern_error *error)
{
    char names[256], quoted[ERROR_QUOTE_BYTES];
    struct line line = {names, sizeof names, 0};

    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        if (tiers[i].arch != QKERN_ARCH_NONE && tiers[i].arch != arch)
            continue;
        if (strcasecmp(tiers[i].name, name) == 0) {
            *tier = tiers[i].tier;
            return QKERN_OK;
        }
        line_add(&line, " %s", tiers[i].name);
    }
    return error_set(error, QKERN_E_ENVIRONMENT, QKERN_NO_INDEX,
                     "QKERN_MAX_ISA: \"%s\" is not one of:%s",
                     error_quote(quoted, name, strlen(name)), names);
}

/* --- needs ------------------------------------------------------------------------------------ */

static bool feature_missing(const struct feature_state *feature,
                            const uint32_t needed[QKERN_FEATURE_WORDS])
{
    return !feature->usable && (needed[feature->word] & feature->mask) != 0;
}

/* The length of a reason without its details, which stand in parentheses at its end. */
static size_t reason_head(const char *reason)
{
    return strcspn(reason, "(");
}

static bool reasons_alike(const char *one, const char *other)
{
    return reason_head(one) == reason_head(other) && memcmp(one, other, reason_head(one)) == 0;
}

/* "avx2, fma: the reason that they share (the details of each)", once for each reason. */
static void missing_explain(const struct cpu_features *features,
                            const uint32_t needed[QKERN_FEATURE_WORDS], struct line *line)
{
    bool told[FEATURE_LIMIT] = {false};

    for (uint32_t i = 0; i < features->count; i++) {
        const char *reason = features->list[i].reason, *last = "";
        char details[512] = "";
        struct line detail_line = {details, sizeof details, 0};

        if (told[i] || !feature_missing(&features->list[i], needed))
            continue;
        line_add(line, "%s", line->used == 0 ? "needs " : "; ");
        for (uint32_t k = i; k < features->count; k++) {
            const struct feature_state *feature = &features->list[k];
            const char *detail = feature->reason + reason_head(reason);

            if (!feature_missing(feature, needed) || !reasons_alike(feature->reason, reason))
                continue;
            told[k] = true;
            line_add(line, "%s%s", k == i ? "" : ", ", feature->name);
            if (detail[0] != '\0' && strcmp(detail, last) != 0)
                line_add(&detail_line, "%s%.*s", last[0] == '\0' ? "(" : "; ",
                         (int)strlen(detail) - 2, detail + 1);
            last = detail;
        }
        line_add(line, ": %.*s%s%s", (int)reason_head(reason), reason, details,
                 details[0] != '\0' ? ")" : "");
    }
}

bool features_cover(const struct cpu_features *features, const uint32_t needed[QKERN_FEATURE_WORDS],
                    char *text, size_t size)
{
    uint32_t known[QKERN_FEATURE_WORDS] = {0};
    struct line line = {text, size, 0};
    bool covered = true;

    for (uint32_t i = 0; i < features->count; i++)
        known[features->list[i].word] |= features->list[i].mask;
    for (uint32_t word = 0; word < QKERN_FEATURE_WORDS; word++)
        covered = covered && (needed[word] & ~features->words[word]) == 0;
    if (covered)
        return true;

    for (uint32_t word = 0; word < QKERN_FEATURE_WORDS; word++)
        for (uint32_t bit = 0; bit < 32; bit++)
            if ((needed[word] & ~known[word]) >> bit & 1)
                line_add(&line,
                         "%sbit %" PRIu32 " of feature word %" PRIu32
                         ", which this libqkern does not know",
                         line.used == 0 ? "needs " : "; ", bit, word);
    missing_explain(features, needed, &line);
    return false;
}
