// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The type of object that a handle names, told by its first four characters.
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

    /// The place of this kind in a list with an element for each kind.
    var index: Int {
        switch self {
        case .request: 0
        case .response: 1
        case .router: 2
        case .stream: 3
        case .decision: 4
        case .interceptor: 5
        case .session: 6
        case .subscription: 7
        case .credential: 8
        }
    }

    /// The member that names the object in most params.
    var parameter: StaticString {
        switch self {
        case .request: "request"
        case .response: "response"
        case .router: "router"
        case .stream: "stream"
        case .decision: "decision"
        case .interceptor: "interceptor"
        case .session: "session"
        case .subscription: "subscription"
        case .credential: "credential"
        }
    }

    /// Whether objects of this kind may be over while they have a handle. A search through all objects takes long.
    var canBeOver: Bool { self == .stream }

    /// The most handles of this kind per connection.
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

/// An object that lives on under a handle, until its release or the end of its owner.
package protocol Holdable: AnyObject, Sendable {
    static var kind: HandleKind { get }

    /// Whether a call waits for the object right now. The end of a client's input closes objects without a waiting
    /// call.
    var isAwaited: Bool { get }

    /// Whether the object will still send its client events, and so stays open after the end of the client's input.
    var owes: Bool { get }

    /// The client sends nothing more. Called only for objects that are awaited or owe events.
    func inputEnded()

    /// Whether the object is of no more use: the table forgets such objects to make room, if their kind `canBeOver`.
    var isOver: Bool { get }

    /// The owner is gone, or the service stops. Must return at once; may be called more than once.
    func close()
}

extension Holdable {
    package var isOver: Bool { false }
    package var owes: Bool { false }
    package func inputEnded() {}
}

/// The string by which a client names an object: opaque and unguessable.
package struct Handle<Thing: Holdable>: Sendable, Hashable {
    package let name: String

    /// A new name: the kind, then 80 random bits in base32.
    package init() {
        // the first number gives ten characters, the second six
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

    /// A client's string; the table checks whether the name is known.
    package init(named name: String) { self.name = name }

    /// RFC 4648 section 6, in lower case.
    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 26 ? UInt8(ascii: "a") + value : UInt8(ascii: "2") + (value - 26)
    }
}

extension Handle: JSONDecodable {
    /// Any string; the table checks whether the name is known (unknownHandle).
    package init(json: JSONValue) throws(JSONComplaint) {
        name = try String(json: json)
    }
}

extension Handle: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(name) }
}
