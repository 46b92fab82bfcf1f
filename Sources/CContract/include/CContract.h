// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#ifndef OUTRIDER_CONTRACT_H
#define OUTRIDER_CONTRACT_H

#include <stddef.h>

/// The bytes of `schema/openrpc.json`, as they were at the build, and a NUL behind them.
const char *_Nonnull outrider_contract(void);

/// The bytes before the NUL.
size_t outrider_contract_length(void);

#endif
