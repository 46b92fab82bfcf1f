// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Looks whether a store on disk is sound.
struct CacheVerify: Method {
    static let name = "cache.verify"

    static func call(_ params: CacheParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let fault: String? = await (try await params.cache.resolved(call)).fault()
        return ReplyMembers { writer in
            writer.member("ok", fault == nil)
            writer.member("fault", fault)
        }
    }
}
