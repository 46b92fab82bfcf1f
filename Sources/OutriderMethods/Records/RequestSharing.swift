// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// A detached request belongs to its user. Each connection of the user can find the request by handle or name, and
/// adopt the request; only the connection that made the request sees its secrets.
extension RequestRecord {
    /// Moves the request to the share of the user, so that the request outlives this connection. Throws `tooMany` or
    /// `wrongState` (the name is taken, or a stream carries the body) without a change.
    func detach(as label: String?, from scope: ClientScope) throws(RPCError) {
        if exchange.outcome == nil, streams.withLock({ $0 != nil }) {
            throw RPCError(
                .wrongState, "a request with a stream ends with the connection that reads it, and cannot be detached",
                data: ["pointer": .string("/request"), "state": .string("streaming")])
        }
        let table = scope.share.handles
        if let label = label ?? ownLabel { try name(label, in: table) }
        let (old, kept) = holding.withLock { ($0.owner, $0.kept) }
        guard old !== table else { return }
        do throws(RPCError) {
            try table.keep(self, as: handle)
        } catch {
            unname(in: table)
            throw error
        }
        if let kept { try? kept.move(from: old, to: table) }
        old.forget(handle.name, of: .request)
        holding.withLock { holding in
            holding.owner = table
            holding.isDetached = true
        }
        share(with: scope)
        events?.share()
        let engine = scope.service.engine
        if isOfCall { forgetLater(engine) }
        exchange.tell(.requestDetached) { .nothing }
    }

    /// The connection lists the request from now on, and gets notes. Other connections keep their access.
    func adopt(by scope: ClientScope) {
        guard isDetached else { return }
        share(with: scope)
        exchange.tell(.requestAdopted) { .nothing }
    }

    func share(with scope: ClientScope) {
        let table = scope.share.handles
        scope.owner.share(handle.name) { Set(table.all(RequestRecord.self).map(\.handle.name)) }
    }

    /// Ends the request and drops all its kept data. Called by a second connection while the first is still open, this
    /// only ends the share of the second.
    func forget(by scope: ClientScope) async {
        scope.owner.unshare(handle.name)
        guard giver === scope.owner || giver.isGone else { return }
        forget()
        guard let (table, handles) = streams.withLock({ $0.take() }) else { return }
        for stream in handles.compactMap({ table.remove($0) }) { await stream.end() }
    }

    // MARK: names

    /// Throws `wrongState` if another request of the user has that name.
    func name(_ label: String, in table: HandleTable) throws(RPCError) {
        if self.label.map(ByteText.init) == ByteText(label) { return }
        guard table.names.add(self, as: label) else {
            throw RPCError(
                .wrongState, "there is a detached request named \(label) already: forget it, or take another name",
                data: ["pointer": .string("/name"), "state": .string("taken")])
        }
        unname(in: table)
        holding.withLock { $0.label = label }
    }

    func unname(in table: HandleTable) {
        let label = holding.withLock { holding in
            defer { holding.label = nil }
            return holding.label
        }
        if let label { table.names.remove(self, as: label) }
    }

    // MARK: secrets

    /// Whether that connection gave the request's secrets.
    func isGiven(by scope: ClientScope) -> Bool { giver === scope.owner }

    /// The redaction for that connection. Throws `notPermitted` if another connection wants the request's secrets.
    func redaction(_ wanted: Redaction, for scope: ClientScope) throws(RPCError) -> Redaction {
        guard case .none = wanted, !isGiven(by: scope) else { return wanted }
        throw RPCError(
            .notPermitted, "the secrets of a request are shown only to the connection that made it: leave out secrets",
            data: ["pointer": .string("/secrets")])
    }

    /// The redaction for members that the first connection always sees unmasked.
    func redaction(for scope: ClientScope) -> Redaction { isGiven(by: scope) ? .none : .masked }
}

extension Redaction {
    func hop(_ hop: RedirectHop) -> RedirectHop {
        var hop = hop
        hop.from = url(hop.from)
        hop.to = url(hop.to)
        return hop
    }

    func head(_ head: ExchangeHead) -> ExchangeHead {
        var head = head
        head.fields = fields(head.fields)
        return head
    }

    /// Resume data contains the full URL, so masking removes the resume data.
    func outcome(_ outcome: ExchangeOutcome) -> ExchangeOutcome {
        guard case .masked = self else { return outcome }
        var outcome = outcome
        outcome.url = url(outcome.url)
        outcome.head = outcome.head.map(head)
        outcome.trailers = fields(outcome.trailers)
        outcome.redirects = outcome.redirects.map(hop)
        outcome.resumeData = nil
        return outcome
    }
}
