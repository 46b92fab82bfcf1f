// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// A kept body under its handle, for ten minutes or until its release.
final class StoredResponse: Holdable {
    static let kind = HandleKind.response

    let handle = Handle<StoredResponse>()
    let body: KeptBody
    /// The response of the body.
    let facts: ResponseFacts
    private let state = Mutex(State())

    private struct State {
        weak var owner: HandleTable?
        var expiry: Expiry?
    }

    init(_ body: KeptBody, _ facts: ResponseFacts) {
        self.body = body
        self.facts = facts
    }

    /// True: later calls may need the body, so it stays as long as its owner.
    var isAwaited: Bool { true }

    func close() {
        stopExpiry()
        body.release()
    }

    /// Closes the body, and waits until a file is removed.
    func closed() async {
        stopExpiry()
        await body.released()
    }

    private func stopExpiry() {
        state.withLock { $0.expiry = nil }
    }

    /// Moves the body to another table.
    func move(from old: HandleTable, to owner: HandleTable) throws(RPCError) {
        try owner.keep(self, as: handle)
        old.forget(handle.name, of: Self.kind)
        state.withLock { $0.owner = owner }
    }

    /// Keeps the body under its handle, and starts the ten minutes. On failure, releases the body at once.
    func keep(in owner: HandleTable, _ engine: Engine) throws(RPCError) {
        do throws(RPCError) {
            try owner.keep(self, as: handle)
        } catch {
            body.release()
            throw error
        }
        let expiry = engine.expiries.add { [weak self] in
            guard let self else { return }
            state.withLock { $0.owner }?.remove(handle)
            close()
        }
        state.withLock { $0 = State(owner: owner, expiry: expiry) }
    }
}
