// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#include <brotli/decode.h>
#include <brotli/encode.h>
