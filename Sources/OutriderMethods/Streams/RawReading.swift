// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

extension BodyChunk: RawBytes {}

/// A stream whose bytes a second connection carries.
extension ReadStream {
    /// What a second connection hears before the bytes.
    struct Beginning {
        /// How many bytes will come, where that is known.
        var size: Int?
        /// Why it has ended early already.
        var failure: HTTPFailure?
    }

    /// Reserves the stream for a second connection, and waits for its first bytes, or for its end. Throws `wrongState`, and
    /// `cancelled`.
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

    /// From now on that connection carries it.
    ///
    /// - Parameter ignoresInput: whether what the client sends there is not wanted.
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

    /// Gives a second connection a chunk as it lies; false where there is none, or others must go first.
    func pass(_ chunk: BodyChunk) -> Bool {
        let pipe = contents.withLock { contents in
            contents.isCarrying || contents.pipe == nil || !contents.machine.pass(chunk.count) ? nil : contents.pipe
        }
        // if nobody is there any more, whoever delivers next hears of it
        pipe?.write(chunk)
        return pipe != nil
    }

    private func pipeMoved() {
        if contents.withLock({ $0.pipe })?.isGone == true { _ = carry() }
        hub.moved()
    }

    /// Gives a second connection what there is; nil without one. From any task, but one after the other.
    func carry() -> Appetite? {
        let (pipe, isBusy) = contents.withLock { contents in
            let isBusy = contents.isCarrying
            if isBusy { contents.carriesAgain = true } else { contents.isCarrying = contents.pipe != nil }
            return (contents.pipe, isBusy)
        }
        guard let pipe else { return nil }
        // whoever carries tells the hub when he is done
        if isBusy { return .full }
        var wasAsked = false
        while true {
            let appetite = pass(to: pipe)
            let goesOn = contents.withLock { contents in
                defer { contents.carriesAgain = false }
                contents.isCarrying = contents.carriesAgain
                return contents.carriesAgain
            }
            wasAsked = wasAsked || goesOn
            if goesOn { continue }
            if wasAsked { hub.moved() }
            return appetite
        }
    }

    private func pass(to pipe: any RawPipe) -> Appetite {
        var isThere = !pipe.isGone
        while isThere, let bytes = contents.withLock({ $0.machine.drain() }) {
            isThere = bytes.withUnsafeBytes { pipe.write($0) }
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
