// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Tells how a cache stands.
struct CacheStats: Method {
    static let name = "cache.stats"

    static func call(_ params: CacheParams, _ call: Call<ClientScope>) async throws -> CacheStatsShape {
        await CacheStatsShape(try await params.cache.resolved(call))
    }
}
