// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Cancels every request of a session, and waits until they are over.
struct SessionCancelAll: Method {
    static let name = "session.cancelAll"

    /// Seconds; a client that does not take its events may hold up their ends.
    private static let patience = 5.0

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.cancel() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for exchange in exchanges { _ = await exchange.reached(.finish) } }
            group.addTask { try? await Task.sleep(for: .seconds(patience)) }
            _ = await group.next()
            group.cancelAll()
        }
        return ReplyMembers { $0.member("cancelled", exchanges.count) }
    }
}
