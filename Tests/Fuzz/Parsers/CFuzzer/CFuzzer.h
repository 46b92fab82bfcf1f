// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#include <stddef.h>
#include <stdint.h>

/// libFuzzer, which comes with the compiler, as a library.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*callback)(const uint8_t *bytes, size_t count));

/// Where a counter stands in the program.
struct CounterPlace {
    uintptr_t address, flags;
};

/// What the objects of a program say to libFuzzer, under the names that the linker gives them with --wrap.
void __real___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *end);
void __real___sanitizer_cov_pcs_init(struct CounterPlace *start, struct CounterPlace *end);
