/* SPDX-License-Identifier: MIT */
/* A plugin written in C++17: no exceptions, no run-time types, no start-up code. */
#include <cstring>

#include <qkern/blocks.h>
#include <qkern/plugin.h>

namespace {

void f32_dequantize(uint64_t n, const void *blocks, float *y)
{
    std::memcpy(y, blocks, n * sizeof *y);
}

constexpr qkern_kernel f32 = {
    QKERN_KERNEL_HEAD(F32), nullptr, f32_dequantize, nullptr, nullptr, nullptr};
constexpr const qkern_kernel *kernels[] = {&f32};

} // namespace

QKERN_PLUGIN(kernels, nullptr, QKERN_MANIFEST("cxx", "1.0", 0, 60, 0, 0))
