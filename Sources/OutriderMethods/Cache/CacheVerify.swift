// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Looks whether a store on disk is sound.
struct CacheVerify: Method {
    static let name = "cache.verify"

    struct Result: JSONEncodable {
        var fault: String?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("ok", fault == nil)
                writer.member("fault", fault)
            }
        }
    }

    static func call(_ params: CacheParams, _ call: Call<ClientScope>) async throws -> Result {
        Result(fault: await (try await params.cache.resolved(call)).fault())
    }
}
