// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

extension BodyChunk: RawBytes {}

/// Streams whose bytes go to a second connection (`stream.attach`).
extension ReadStream {
    /// The facts that a second connection gets before the bytes.
    struct Beginning {
        /// The number of bytes to come; nil if unknown.
        var size: Int?
        /// The failure of a stream that has ended early already.
        var failure: HTTPFailure?
    }

    /// Reserves the stream for a second connection, and waits for its first bytes, or for its end. Throws `wrongState`
    /// and `cancelled`.
    func attach() async throws -> Beginning {
        let refusal = contents.withLock { contents -> RPCError? in
            if isPushed { return .wrongState("this stream sends events; open it with mode \"pull\" to attach", "push") }
            guard contents.look.place == .base64 else {
                return .wrongState("only a stream of bytes can be attached; open it as \"bytes\"", "items")
            }
            guard !contents.isRead, !contents.isAttached else {
                return .wrongState("the stream is being read, or another connection carries it", "reading")
            }
            contents.isAttached = true
            return nil
        }
        if let refusal { throw refusal }
        while true {
            let (beginning, isClosed) = contents.withLock { contents -> (Beginning?, Bool) in
                guard contents.machine.hasBegun else { return (nil, contents.isClosed) }
                return (Beginning(size: contents.machine.left, failure: contents.machine.failure), contents.isClosed)
            }
            if isClosed { throw RPCError.wrongState("the stream was closed", "closed") }
            if let beginning { return beginning }
            await data.wait()
            if Task.isCancelled {
                contents.withLock { $0.isAttached = false }
                throw CancellationError()
            }
        }
    }

    /// Takes the reservation of `attach` back, before any byte was sent.
    func detach() { contents.withLock { $0.isAttached = false } }

    /// Sends the stream's bytes to that connection from now on.
    ///
    /// - Parameter ignoresInput: whether to discard the client's input on that connection.
    func carry(on pipe: any RawPipe, ignoresInput: Bool = true) {
        let isOpen = contents.withLock { contents in
            if !contents.isClosed { contents.pipe = pipe }
            return !contents.isClosed
        }
        guard isOpen else { return pipe.abort() }
        if ignoresInput { pipe.ignoreInput() }
        _ = carry()
        pipe.whenMoved { [weak self] in self?.pipeMoved() }
    }

    /// Writes a chunk to the second connection without copying; false without a connection, or if earlier bytes must go
    /// first.
    func pass(_ chunk: BodyChunk) -> Bool {
        let pipe = contents.withLock { contents in
            contents.isCarrying || contents.pipe == nil || !contents.machine.pass(chunk.count) ? nil : contents.pipe
        }
        // if the connection is gone, the next delivery finds out
        pipe?.write(chunk)
        return pipe != nil
    }

    /// The same for buffers that are valid during the call. False also if the connection has no room.
    func pass(_ buffers: [UnsafeRawBufferPointer], _ count: Int) -> Bool {
        guard let pipe = contents.withLock({ $0.pipe }), pipe.hasRoom else { return false }
        let isNext = contents.withLock { $0.pipe === pipe && !$0.isCarrying && $0.machine.pass(count) }
        guard isNext else { return false }
        if pipe.write(buffers) { return true }
        contents.withLock { $0.machine.takeBack(count) }
        return false
    }

    private func pipeMoved() {
        if contents.withLock({ $0.pipe })?.isGone == true { _ = carry() }
        hub.moved()
    }

    /// Writes all held bytes to the second connection; nil without a connection. From any task, but not concurrently.
    func carry() -> Appetite? {
        let (pipe, isBusy) = contents.withLock { contents in
            let isBusy = contents.isCarrying
            if isBusy { contents.carriesAgain = true } else { contents.isCarrying = contents.pipe != nil }
            return (contents.pipe, isBusy)
        }
        guard let pipe else { return nil }
        // the running delivery tells the hub when it is done
        if isBusy { return .full }
        var wasWanted = false
        while true {
            let appetite = pass(to: pipe)
            let goesOn = contents.withLock { contents in
                defer { contents.carriesAgain = false }
                contents.isCarrying = contents.carriesAgain
                return contents.carriesAgain
            }
            wasWanted = wasWanted || goesOn
            if goesOn { continue }
            if wasWanted { hub.moved() }
            return appetite
        }
    }

    private func pass(to pipe: any RawPipe) -> Appetite {
        var isThere = !pipe.isGone
        while isThere, let bytes = contents.withLock({ $0.machine.drain() }) {
            isThere = bytes.withUnsafeBytes { pipe.write([$0]) }
        }
        if !isThere {
            handles.remove(handle)
            close()
            return .over
        }
        if contents.withLock({ $0.machine.isOver }) {
            contents.withLock { $0.pipe = nil }
            release()
            if duplex?.isWriting == true { pipe.endOutput() } else { pipe.finish() }
            tellEnd()
            return .over
        }
        return pipe.hasRoom ? .hungry : .full
    }
}
