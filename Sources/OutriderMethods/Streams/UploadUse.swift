// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The use of an upload stream by one request: the end of the request ends the stream, unless the stream feeds another
/// request.
final class UploadUse: BodyFeed {
    private let stream: UploadStream
    /// The length that the request promises; nil without a promise.
    private let length: Int64?
    private let hasTaken = Mutex(false)

    init(_ stream: UploadStream, length: Int64?) {
        self.stream = stream
        self.length = length
    }

    var isFresh: Bool { stream.isFresh }

    func take() -> Bool {
        hasTaken.withLock { hasTaken in
            guard stream.take(most: length) else { return false }
            hasTaken = true
            return true
        }
    }

    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void) { stream.next(hand) }

    func drop() {
        let isOwn = hasTaken.withLock { $0 }
        if isOwn || !stream.isTaken { stream.drop() }
    }
}
