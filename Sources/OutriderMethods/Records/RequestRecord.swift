// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A request under its handle: the exchange, and what its caller wanted to hear.
final class RequestRecord: Holdable {
    static let kind = HandleKind.request

    let handle: Handle<RequestRecord>
    let exchange: Exchange
    let serialize: SerializeSpec
    let tag: String?
    let showsMetrics: Bool
    let showsHandle: Bool
    let isDetached: Bool
    /// Whether the call that made it waits for its end.
    let isOfCall: Bool
    /// Where its kept body goes.
    let owner: HandleTable
    let events: RequestEvents?
    private let kept = Mutex<StoredResponse?>(nil)

    private init(
        _ params: RequestParameters, _ handle: Handle<RequestRecord>, _ exchange: Exchange, owner: HandleTable,
        isOfCall: Bool, events: RequestEvents?
    ) {
        self.handle = handle
        self.exchange = exchange
        self.owner = owner
        self.isOfCall = isOfCall
        self.events = events
        serialize = params.spec.serialize
        tag = params.spec.tag
        showsMetrics = params.spec.metrics
        showsHandle = params.showsHandle
        isDetached = params.isDetached
    }

    /// Makes the request, not yet started, and puts it under its handle. Throws `tooMany` and `clientGone`.
    static func make(
        _ params: RequestParameters, _ call: Call<ClientScope>, isOfCall: Bool
    ) async throws(RPCError) -> RequestRecord {
        let scope = call.scope
        if params.isDetached, call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detach works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/detach")])
        }
        let handle = Handle<RequestRecord>()
        let events =
            params.events.isEmpty
            ? nil
            : RequestEvents(
                params.events, of: handle.name, call: isOfCall ? call.id : nil, tag: params.spec.tag, peer: call.peer)
        let engine = scope.service.engine
        let exchange = await engine.exchange(
            params.spec(with: engine.settings), quota: scope.quota, keepsBody: !isOfCall || params.isDetached,
            observer: events)
        let owner = params.isDetached ? scope.service.detached : scope.handles
        let record = RequestRecord(params, handle, exchange, owner: owner, isOfCall: isOfCall, events: events)
        // whoever cannot learn the handle needs no entry for it
        if params.showsHandle || !isOfCall || events != nil { try owner.keep(record, as: handle) }
        if !isOfCall || params.isDetached { record.forget(after: engine.settings.keepSeconds, engine) }
        return record
    }

    /// Once it has ended, its result is kept for so long.
    private func forget(after seconds: Double, _ engine: Engine) {
        exchange.whenEnded { [weak self] in
            _ = engine.later(seconds: seconds) { [weak self] in
                guard let self else { return }
                owner.remove(handle)
            }
        }
    }

    var isAwaited: Bool { exchange.isAwaited || (isOfCall && exchange.outcome == nil) }

    func close() { exchange.cancel() }

    /// The handle under which the body is kept; made when first asked for. Throws `tooMany` and `clientGone`.
    func stored(_ body: KeptBody, in engine: Engine) throws(RPCError) -> StoredResponse {
        let (stored, isFresh) = kept.withLock { kept in
            if let kept { return (kept, false) }
            let fresh = StoredResponse(body)
            kept = fresh
            return (fresh, true)
        }
        if isFresh { try stored.keep(in: owner, engine) }
        return stored
    }
}
