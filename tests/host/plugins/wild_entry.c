/* SPDX-License-Identifier: MIT */
/* Plugins with a valid manifest whose entry is something else than a constant struct. */
#include "kernels.h"

QKERN_PLUGIN_NOTE(QKERN_MANIFEST("wild", "1.0", 0, HIGH_TIER, LOW_FEATURE, 0))

#if defined(WILD_ENTRY_FUNCTION)
QKERN_PLUGIN_VISIBILITY int qkern_plugin_v1(void);
int qkern_plugin_v1(void)
{
    return 1;
}
#elif defined(WILD_ENTRY_THREAD_LOCAL)
QKERN_PLUGIN_VISIBILITY extern _Thread_local struct qkern_plugin qkern_plugin_v1;
_Thread_local struct qkern_plugin qkern_plugin_v1 = {sizeof(struct qkern_plugin), 1, NULL, NULL,
                                                     NULL};
#elif defined(WILD_ENTRY_ABSOLUTE)
__asm__(".globl qkern_plugin_v1\n.type qkern_plugin_v1, %object\n.set qkern_plugin_v1, 0x10000\n");
#elif defined(WILD_ENTRY_LABEL) /* code, but not called a function */
__asm__(".text\n.balign 8\n.globl qkern_plugin_v1\n.type qkern_plugin_v1, %object\n"
        "qkern_plugin_v1: .long 32, 1, -1, -1, -1, -1, -1, -1\n");
#elif defined(WILD_ENTRY_POINTER)
/* As long as an entry: that only its symbol's size ends it sooner, nobody can see in memory. */
QKERN_PLUGIN_VISIBILITY extern const char *const qkern_plugin_v1[4];
const char *const qkern_plugin_v1[4] = {"no table", (const char *)(uintptr_t)0x10000};
#elif defined(WILD_ENTRY_NUMBER)
QKERN_PLUGIN_VISIBILITY extern const int qkern_plugin_v1;
const int qkern_plugin_v1 = 1;
#endif
