// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Lists this client's interceptors, without their secrets.
struct InterceptorList: Method {
    static let name = "interceptor.list"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let records = call.scope.handles.all(InterceptorRecord.self)
        let interceptors = records.sorted { ($0.label ?? "", $0.handle.name) < ($1.label ?? "", $1.handle.name) }
        return ReplyMembers { writer in
            writer.name("interceptors")
            writer.array { writer in
                for record in interceptors {
                    writer.object { writer in
                        writer.member("interceptor", record.handle)
                        writer.member("kind", record.what.rawValue)
                        writer.member("label", record.label)
                    }
                }
            }
        }
    }
}
