// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC

/// Members of a stream of messages beside its reading half.
extension ReadStream {
    /// The WebSocket; nil for other streams.
    var socket: WebSocketSource? { contents.withLock { $0.socket } as? WebSocketSource }

    /// How the WebSocket was closed; nil for an open WebSocket, and for other streams.
    var socketClose: SocketClose? { contents.withLock { $0.close } }

    func join(_ socket: WebSocketSource) { contents.withLock { $0.socket = socket } }

    /// The WebSocket is over.
    func close(with close: SocketClose?, _ record: [UInt8]) {
        contents.withLock { $0.close = close }
        if !isPushed { feed(record) }
    }

    /// The WebSocket of the stream. Throws `wrongState` for other streams.
    func openSocket() throws(RPCError) -> WebSocketSource {
        if let socket { return socket }
        throw RPCError.wrongState("this stream is no WebSocket: give one of websocket.open", "read")
    }

    /// Reserves the stream for a second connection that carries records both ways, and waits until the WebSocket is
    /// open, or over. Returns the failure if over. Throws `wrongState` and `cancelled`.
    func attachMessages() async throws -> HTTPFailure? {
        let refusal = contents.withLock { contents -> RPCError? in
            if isPushed { return .wrongState("this stream sends events; open it with mode \"pull\" to attach", "push") }
            guard !contents.isRead, !contents.isAttached else {
                return .wrongState("the stream is being read, or another connection carries it", "reading")
            }
            guard contents.machine.becomeRaw() else {
                return .wrongState("messages were read with stream.read: attach before the first read", "reading")
            }
            contents.isAttached = true
            return nil
        }
        if let refusal { throw refusal }
        while true {
            let (hasBegun, failure, isClosed) = contents.withLock {
                ($0.machine.hasBegun, $0.machine.failure, $0.isClosed)
            }
            if isClosed { throw RPCError.wrongState("the stream was closed", "closed") }
            if hasBegun { return failure }
            await data.wait()
            if Task.isCancelled {
                contents.withLock { contents in
                    contents.isAttached = false
                    contents.machine.becomeItems()
                }
                throw CancellationError()
            }
        }
    }

    /// From now on that connection carries the records.
    func carryMessages(on pipe: any RawPipe) {
        let socket = socket
        carry(on: pipe, ignoresInput: false)
        // Ends with the connection, or with the WebSocket.
        Task { await socket?.feed(from: pipe) }
    }
}
