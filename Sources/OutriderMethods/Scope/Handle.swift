// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// What kind of thing a handle names; its first four characters say so.
package enum HandleKind: String, Sendable, CaseIterable {
    case request = "req_"
    case response = "rsp_"
    case router = "rtr_"
    case stream = "str_"
    case decision = "dec_"
    case interceptor = "int_"
    case session = "ses_"
    case subscription = "sub_"
    case credential = "crd_"

    /// How many a connection may have.
    package var limit: Int {
        switch self {
        case .request, .response: 4096
        case .stream, .interceptor, .session: 256
        case .decision, .router, .subscription, .credential: 64
        }
    }

    /// The name of that limit in `server.info`.
    package var limitName: String {
        switch self {
        case .request, .response: "requests"
        case .router: "routers"
        case .stream: "streams"
        case .decision: "callbacks"
        case .interceptor: "interceptors"
        case .session: "sessions"
        case .subscription: "subscriptions"
        case .credential: "credentials"
        }
    }
}

/// Something that lives on under a handle, until it is released or its owner leaves.
package protocol Holdable: AnyObject, Sendable {
    static var kind: HandleKind { get }

    /// Whether a call waits for it right now: what nobody waits for ends when a client's input ends.
    var isAwaited: Bool { get }

    /// Whether its client will hear of it without asking, so that it goes on behind the end of the client's input.
    var owes: Bool { get }

    /// Its client sends nothing more. Called only while `owes`.
    func inputEnded()

    /// Nothing can be done with it any more: it is forgotten when its place is needed.
    var isOver: Bool { get }

    /// Its owner is gone, or the service stops. Must return at once; may be called more than once.
    func close()
}

extension Holdable {
    package var isOver: Bool { false }
    package var owes: Bool { false }
    package func inputEnded() {}
}

/// The string by which a client names something that lives on: opaque, and not to be guessed.
package struct Handle<Thing: Holdable>: Sendable, Hashable {
    package let name: String

    /// A name that nothing has yet: the kind, then 80 random bits in base32.
    package init() {
        // one number for ten characters, one for six
        let (first, second) = RandomPool.pair()
        var bits = first
        name = String(unsafeUninitializedCapacity: 20) { buffer in
            var index = 0
            for byte in Thing.kind.rawValue.utf8 {
                buffer[index] = byte
                index += 1
            }
            for drawn in 0..<16 {
                if drawn == 10 { bits = second }
                buffer[index] = Self.digit(bits & 31)
                bits >>= 5
                index += 1
            }
            return index
        }
    }

    /// What a client calls it; whether it names something is for the table to say.
    package init(named name: String) { self.name = name }

    /// RFC 4648 section 6, in lower case.
    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 26 ? UInt8(ascii: "a") + value : UInt8(ascii: "2") + (value - 26)
    }
}

extension Handle: JSONDecodable {
    /// Any string: whether it names something is for the table to say (unknownHandle).
    package init(json: JSONValue) throws(JSONComplaint) {
        name = try String(json: json)
    }
}

extension Handle: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(name) }
}
