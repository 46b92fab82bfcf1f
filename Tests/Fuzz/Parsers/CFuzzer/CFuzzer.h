// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#include <stddef.h>
#include <stdint.h>

/// libFuzzer, which comes with the compiler, as a library.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*callback)(const uint8_t *bytes, size_t count));
