// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
