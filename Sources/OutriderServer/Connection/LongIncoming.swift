// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// The content of a long frame, made away from the event loop: the parameters of its calls are decoded as far as their
/// methods have long ones.
struct LongIncoming: Sendable {
    private(set) var incoming: Incoming
    /// Decoded parameters, by the place of their call in the batch. The call itself has null in their place.
    private(set) var decoded: [Int: any DecodedParams] = [:]

    init(_ incoming: consuming Incoming, _ dispatch: (any Dispatch)?) {
        self.incoming = incoming
        guard let dispatch else { return }
        switch self.incoming {
        case .one(let message): self.incoming = .one(decode(message, 0, dispatch))
        case .batch(let messages):
            self.incoming = .batch(messages.enumerated().map { decode($0.element, $0.offset, dispatch) })
        }
    }

    private mutating func decode(_ message: Message, _ slot: Int, _ dispatch: any Dispatch) -> Message {
        guard case .call(let id, let method, let params) = message, let early = dispatch.decode(method, params) else {
            return message
        }
        decoded[slot] = early
        return .call(id: id, method: method, params: .null)
    }
}
