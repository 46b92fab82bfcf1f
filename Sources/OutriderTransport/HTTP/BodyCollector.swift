// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Reads the whole body of a request into memory, before any compression, as an attempt would send the body.
// proof: everything runs on the loop; other threads only carry the reference.
package final class BodyCollector: @unchecked Sendable {
    package typealias Hand = (Result<[UInt8], HTTPFailure>) -> Void

    private let source: any BodySource
    private let most: Int
    private var bytes: [UInt8] = []
    private var hand: Hand?

    /// - Parameters:
    ///   - holder: keeps the memory of the body counted until all has been read.
    ///   - most: limit in bytes; a longer body fails with `limitExceeded`.
    ///   - hand: gets the bytes, once, on the loop.
    package init(
        _ body: ComposedBody, of holder: (any BodyHolder)?, for client: ClientKey, on loop: any EventLoop, most: Int,
        _ hand: @escaping Hand
    ) {
        self.most = most
        self.hand = hand
        source = BodyWriter.source(body.pieces, of: holder, client, BufferShelf(), loop)
    }

    package func start() {
        source.next { result in
            switch result {
            case .failure(let failure): self.end(.failure(failure))
            case .success(nil): self.end(.success(self.bytes))
            case .success(let piece?):
                self.bytes.append(contentsOf: piece.bytes.readableBytesView)
                guard self.bytes.count <= self.most else {
                    return self.end(.failure(Self.tooLong(self.most)))
                }
                self.start()
            }
        }
    }

    package func stop() {
        hand = nil
        source.stop()
    }

    private func end(_ result: Result<[UInt8], HTTPFailure>) {
        let hand = hand
        self.hand = nil
        if case .failure = result { source.stop() }
        hand?(result)
    }

    private static func tooLong(_ most: Int) -> HTTPFailure {
        HTTPFailure(
            .limitExceeded,
            "a body of more than \(most) bytes can be neither compared with stubs nor recorded: send it through a session "
                + "without them", phase: .request)
    }
}
