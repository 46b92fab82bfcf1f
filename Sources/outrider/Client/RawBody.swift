// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The rest of a long body, as bytes on a connection of its own: neither side spends time on base64.
struct RawBody: ~Copyable {
    private static let pieceBytes = 512 << 10
    /// Seconds for the service to begin. A service without a free descriptor accepts no connection.
    private static let patience = 5.0

    private var carrier: ServiceClient

    /// Nil where the service cannot be reached a second time: the body is read as before then.
    init?(of body: StreamedBody, through door: ServiceDoor, by end: Deadline) {
        guard let wire = try? door.connect() else { return nil }
        var carrier = ServiceClient(wire)
        let deadline = Deadline.earliest(of: [end, Deadline(after: Self.patience)])
        // a call to attach that is read after this command gave up would take the stream with it
        guard (try? carrier.object("diagnostics.echo", [:], by: deadline)) != nil else { return nil }
        let order = body.attaching
        guard (try? carrier.object(order.method, order.params, by: deadline)) != nil else { return nil }
        self.carrier = carrier
    }

    /// Writes the whole body. Events on the other connection go to the closure meanwhile.
    ///
    /// - Parameter count: grows by the received bytes, even after a failure.
    mutating func write(
        to sink: inout BodyOutput, hearing client: inout ServiceClient, by deadline: Deadline,
        counting count: inout Int64, onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        let (file, early) = carrier.surrenderBytes()
        count += Int64(early.count)
        try sink.write(early)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            guard try client.wait(or: file, by: deadline, onEvent: onEvent) else { continue }
            let size = read(file, buffer.baseAddress, buffer.count)
            if size < 0, errno == EINTR { continue }
            // that it is broken off shows the Response
            guard size > 0 else { return }
            count += Int64(size)
            try sink.write(raw: UnsafeRawBufferPointer(rebasing: buffer[..<size]))
        }
    }
}
