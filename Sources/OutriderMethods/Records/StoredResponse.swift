// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC
import Synchronization

/// A kept body under its handle, for ten minutes or until it is released.
final class StoredResponse: Holdable {
    static let kind = HandleKind.response

    let handle = Handle<StoredResponse>()
    let body: KeptBody
    private let expiry = Mutex<Postponed?>(nil)

    init(_ body: KeptBody) { self.body = body }

    /// It is for later calls, so it stays as long as its owner.
    var isAwaited: Bool { true }

    func close() {
        expiry.withLock { expiry in
            defer { expiry = nil }
            return expiry
        }?.cancel()
        body.release()
    }

    /// Puts it under its handle, and begins to count the minutes. When that cannot be, the body is given back at once.
    func keep(in owner: HandleTable, _ engine: Engine) throws(RPCError) {
        do throws(RPCError) {
            try owner.keep(self, as: handle)
        } catch {
            body.release()
            throw error
        }
        let later = engine.later(seconds: engine.settings.keepSeconds) { [weak self, weak owner, handle] in
            owner?.remove(handle)
            self?.close()
        }
        expiry.withLock { $0 = later }
    }
}
