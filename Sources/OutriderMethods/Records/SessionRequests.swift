// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine

/// The requests of a session.
extension SessionRecord {
    /// The unfinished requests of a session; for the default session, this client's requests with a handle.
    static func exchanges(_ record: SessionRecord?, _ scope: ClientScope) -> [Exchange] {
        if let record { return record.session.exchanges }
        let records = scope.handles.all(RequestRecord.self).filter { $0.session == nil && $0.exchange.outcome == nil }
        return records.map(\.exchange).sorted { $0.number < $1.number }
    }
}
