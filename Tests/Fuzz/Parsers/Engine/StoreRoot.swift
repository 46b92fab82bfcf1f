// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// In place of the directory of credentials, whose keys no row of a cache needs.
struct StoreRoot {
    init(_ directory: String) {}

    func inspect() throws(OAuthFailure) {}
}
