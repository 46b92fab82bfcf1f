// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

#include "CContract.h"

// C23, which Clang knows in every mode
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char contract[] = {
#embed "../../schema/openrpc.json" suffix(, )
    0};

const char *_Nonnull outrider_contract(void) { return contract; }

size_t outrider_contract_length(void) { return sizeof(contract) - 1; }
