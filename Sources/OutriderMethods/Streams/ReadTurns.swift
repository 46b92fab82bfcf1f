// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

/// The other direction of a stream that is read, and what they have in common.
protocol StreamPartner: AnyObject, Sendable {
    /// What a client writes.
    var upload: UploadStream { get }

    /// Whether more may be written.
    var isWriting: Bool { get }

    /// The client has heard of the end of reading: whether the handle is needed for writing.
    func keepsHandle() -> Bool

    /// Ends both directions.
    func close()

    /// Takes what comes from a second connection, as fast as the network takes it, until its end.
    func feed(from pipe: any RawPipe) async
}

/// Reads of a TCP stream queue in order; of others there is one at a time. And what a TCP stream is beside its reading half.
extension ReadStream {
    /// Reads that may wait for their turn.
    private static let mostReaders = 64

    /// The other direction; nil for a stream that is only read.
    var duplex: (any StreamPartner)? { contents.withLock { $0.duplex } }

    /// Bytes that its client has got.
    var delivered: Int { contents.withLock { $0.machine.delivered } }

    /// Whether a read may ask for a number of bytes.
    var isOfBytes: Bool { contents.withLock { $0.machine.isOfBytes } }

    /// Whether a second connection carries it, or is about to.
    var isAttached: Bool { contents.withLock { $0.isAttached } }

    /// A number for what is told between its items.
    func nextSequence() -> Int { contents.withLock { $0.machine.nextSequence() } }

    func join(_ duplex: any StreamPartner) { contents.withLock { $0.duplex = duplex } }

    /// A push stream goes on as far as its credit leads.
    package var owes: Bool { contents.withLock { !$0.isClosed && $0.machine.isSending } }

    package func inputEnded() {
        contents.withLock { $0.machine.endCredit() }
        hub.moved()
    }

    /// Its bytes are over: the handle stays only while there is something to write to.
    func release() {
        if duplex?.keepsHandle() != true { handles.remove(handle) }
    }

    /// Waits for the reads that came before. False where another read is under way that must end first.
    func takeTurn() async throws -> Bool {
        let bell = Bell()
        let isFree = contents.withLock { contents -> Bool? in
            if contents.isAttached { return false }
            if !contents.isRead {
                contents.isRead = true
                return true
            }
            guard contents.duplex != nil, contents.readers.count < Self.mostReaders else { return false }
            contents.readers.append(bell)
            return nil
        }
        if let isFree { return isFree }
        await bell.wait()
        // a turn that was given is not in the queue any more
        let isWaiting = contents.withLock { contents in
            let count = contents.readers.count
            contents.readers.removeAll { $0 === bell }
            return contents.readers.count < count
        }
        guard Task.isCancelled else { return true }
        if !isWaiting { passTurn() }
        throw CancellationError()
    }

    func passTurn() {
        let next = contents.withLock { contents -> Bell? in
            if !contents.readers.isEmpty { return contents.readers.removeFirst() }
            contents.isRead = false
            return nil
        }
        next?.ring()
    }
}

extension HandleTable {
    /// What a client writes to: the body of a request, or a TCP stream. Throws `unknownHandle`.
    func writing(_ handle: Handle<UploadStream>) throws(RPCError) -> UploadStream {
        if let stream = try? find(Handle<ReadStream>(named: handle.name), "stream") {
            if let duplex = stream.duplex { return duplex.upload }
            throw RPCError.wrongState("this stream is only read: write to one of upload.open or tcp.open", "read")
        }
        return try find(handle, "stream")
    }
}
