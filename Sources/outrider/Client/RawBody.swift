// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The rest of a long body, as bytes on a connection of its own: neither side spends time on base64.
struct RawBody: ~Copyable {
    private static let pieceBytes = 512 << 10

    private var carrier: ServiceClient

    /// Nil where the service cannot be reached a second time: the body is read as before then.
    init?(of body: StreamedBody, through door: ServiceDoor, by deadline: Deadline) {
        guard let wire = try? door.connect() else { return nil }
        var carrier = ServiceClient(wire)
        let order = body.attaching
        guard (try? carrier.object(order.method, order.params, by: deadline)) != nil else { return nil }
        self.carrier = carrier
    }

    /// Writes it all. Events on the other connection go to the closure meanwhile.
    ///
    /// - Returns: how many bytes came.
    mutating func write(
        to sink: inout BodyOutput, hearing client: inout ServiceClient, by deadline: Deadline,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> Int64 {
        let (file, early) = carrier.surrenderBytes()
        var written = Int64(early.count)
        try sink.write(early)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            guard try client.wait(or: file, by: deadline, onEvent: onEvent) else { continue }
            let count = read(file, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            // that it is broken off shows the Response
            guard count > 0 else { return written }
            written += Int64(count)
            try sink.write(raw: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
