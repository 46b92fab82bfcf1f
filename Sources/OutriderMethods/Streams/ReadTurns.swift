// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Turns for reads: reads of a TCP stream queue in order, other streams allow a single read at a time. Also the other
/// members of a TCP stream beside its reading half.
extension ReadStream {
    /// Reads that may wait for their turn.
    static let mostReaders = 64

    /// The writing direction; nil for a stream that is only read.
    var duplex: (any StreamPartner)? { contents.withLock { $0.duplex } }

    /// Bytes delivered to the client.
    var delivered: Int { contents.withLock { $0.machine.delivered } }

    /// Whether a read may ask for a number of bytes.
    var isOfBytes: Bool { contents.withLock { $0.machine.isOfBytes } }

    /// Whether a second connection carries the stream, or is about to.
    var isAttached: Bool { contents.withLock { $0.isAttached } }

    /// The next sequence number, for notes between the items.
    func nextSequence() -> Int { contents.withLock { $0.machine.nextSequence() } }

    func join(_ duplex: any StreamPartner) { contents.withLock { $0.duplex = duplex } }

    /// A push stream continues up to its credit.
    package var owes: Bool { contents.withLock { !$0.isClosed && $0.machine.isSending } }

    package func inputEnded() {
        guard !isAwaited else { return }
        contents.withLock { $0.machine.endCredit() }
        hub.moved()
    }

    /// The end of reading: the handle stays only while the client can still write.
    func release() {
        if duplex?.keepsHandle() != true { handles.remove(handle) }
    }

    enum Turn {
        case taken
        /// The reads that came before took too long.
        case late
        /// Another connection carries the stream, or no more reads may wait.
        case refused
    }

    /// Waits for the reads that came before.
    func takeTurn(until deadline: ContinuousClock.Instant) async throws -> Turn {
        let signal = AsyncSignal()
        let isFree = contents.withLock { contents -> Bool? in
            if contents.isAttached { return false }
            if !contents.isRead {
                contents.isRead = true
                return true
            }
            // a cancelled read gives its turn back a moment later
            guard contents.duplex != nil || contents.isReadCancelled, contents.readers.count < Self.mostReaders else {
                return false
            }
            contents.readers.append(signal)
            return nil
        }
        if let isFree { return isFree ? .taken : .refused }
        await signal.wait(until: deadline)
        // a granted turn is not in the queue any more
        let isWaiting = contents.withLock { contents in
            let count = contents.readers.count
            contents.readers.removeAll { $0 === signal }
            return contents.readers.count < count
        }
        guard Task.isCancelled else { return isWaiting ? .late : .taken }
        if !isWaiting { passTurn() }
        throw CancellationError()
    }

    func passTurn() {
        let next = contents.withLock { contents -> AsyncSignal? in
            contents.isReadCancelled = false
            // of a cancelled read
            contents.machine.wanted = 1
            if !contents.readers.isEmpty { return contents.readers.removeFirst() }
            contents.isRead = false
            return nil
        }
        next?.ring()
    }
}

extension HandleTable {
    /// The stream that a client reads. Throws `unknownHandle`, and `wrongState` for the body of a request.
    func reading(_ handle: Handle<ReadStream>) throws(RPCError) -> ReadStream {
        do throws(RPCError) {
            return try find(handle, "stream")
        } catch {
            guard (try? find(Handle<UploadStream>(named: handle.name), "stream")) != nil else { throw error }
            throw RPCError.wrongState(
                "this stream feeds the body of a request: write to it with stream.write and stream.finish", "write")
        }
    }

    /// The target of a client's writes: the body of a request, or a TCP stream. Throws `unknownHandle`.
    func writing(_ handle: Handle<UploadStream>) throws(RPCError) -> UploadStream {
        if let stream = try? find(Handle<ReadStream>(named: handle.name), "stream") {
            if let duplex = stream.duplex { return duplex.upload }
            let isSocket = stream.contents.withLock { $0.socket != nil }
            throw RPCError.wrongState(
                isSocket
                    ? "a WebSocket takes messages and no bytes: use websocket.send and websocket.close"
                    : "this stream is only read: write to one of upload.open or tcp.open",
                "read")
        }
        return try find(handle, "stream")
    }
}
