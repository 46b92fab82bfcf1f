// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A message from a client, sorted by kind. Defects of the message are part of the value, with the id if known, because
/// the sender waits for a reply.
package enum Message: Equatable, Sendable {
    /// A call; the id is nil for a notification, which gets no reply. The method is not looked up yet.
    case call(id: RequestID?, method: String, params: JSONValue)
    /// A reply to a callback.
    case reply(id: RequestID, Reply)
    /// Cancels the call with that id. `silently`: the call then gets no reply. `own`: the id of the message itself,
    /// which then gets a reply, too.
    case cancel(RequestID, silently: Bool, own: RequestID? = nil)
    /// To be rejected with an error; a nil id is written as null.
    case broken(id: RequestID?, RPCError)
    /// Dropped without a reply.
    case ignored

    package enum Reply: Equatable, Sendable {
        case result(JSONValue)
        case error(JSONValue)
        /// Neither, from a client that leaves null out. With the error for the sender if no callback has that id: then the
        /// message was to be a call.
        case empty(RPCError)
    }
}

/// The content of a frame.
package enum Incoming: Equatable, Sendable {
    case one(Message)
    case batch([Message])
}

package struct MessageLimits: Sendable {
    package var batchItems = 100
    package var idCharacters = 256
    package var methodCharacters = 128
    package var json = JSONLimits()

    package init() {}
}

extension Incoming {
    /// Sorts a parsed frame (JSON-RPC 2.0 sections 4 to 6, protocol sections 3.3, 10 and 12).
    package init(_ json: JSONValue, limits: MessageLimits = MessageLimits()) {
        guard case .array(let items) = json else {
            self = .one(Message(json, limits: limits))
            return
        }
        if items.isEmpty {
            self = .one(.broken(id: nil, RPCError(.invalidRequest, "the batch is empty")))
        } else if items.count > limits.batchItems {
            self = .one(
                .broken(
                    id: nil,
                    RPCError(
                        .invalidRequest,
                        "a batch has at most \(limits.batchItems) messages, this one \(items.count)",
                        data: ["limit": .integer(Int64(limits.batchItems))]
                    )
                ))
        } else {
            self = .batch(items.map { Message($0, limits: limits) })
        }
    }
}

extension Message {
    package init(_ json: JSONValue, limits: MessageLimits = MessageLimits()) {
        guard case .object(let object) = json else {
            self = .broken(id: nil, RPCError(.invalidRequest, "not an object"))
            return
        }
        self = Envelope(object).message(limits)
    }
}

/// The known members of an envelope, found in one pass; others are ignored.
private struct Envelope {
    var version: JSONValue?
    var id: JSONValue?
    var method: JSONValue?
    var params: JSONValue?
    var result: JSONValue?
    var error: JSONValue?

    init(_ object: JSONObject) {
        for member in object.members {
            switch member.name {
            case "jsonrpc": version = member.value
            case "id": id = member.value
            case "method": method = member.value
            case "params": params = member.value
            case "result": result = member.value
            case "error": error = member.value
            default: break
            }
        }
    }

    func message(_ limits: MessageLimits) -> Message {
        guard method != nil || (result == nil && error == nil) else { return reply }
        let id: RequestID?
        do throws(RPCError) {
            id = try self.id.map { value throws(RPCError) in try RequestID(value, limits: limits) }
        } catch {
            return .broken(id: nil, error)
        }
        guard version == .string("2.0") else {
            return refused(id, "jsonrpc must be \"2.0\"", at: "/jsonrpc")
        }
        guard case .string(let name) = method else {
            return refused(id, method == nil ? "method is missing" : "method must be a string", at: "/method")
        }
        if name.isEmpty || name.isLonger(than: limits.methodCharacters) {
            return refused(id, "method must have 1 to \(limits.methodCharacters) characters", at: "/method")
        }
        switch name {
        case "$/cancelRequest": return lspCancel(id, limits)
        case "notifications/cancelled" where id == nil: return mcpCancel(limits)
        default: break
        }
        guard let params = lenientParams else { return unusable(id, "params must be an object", at: "/params") }
        return .call(id: id, method: name, params: params)
    }

    private func refused(_ id: RequestID?, _ message: String, at pointer: String) -> Message {
        let error = RPCError(.invalidRequest, message, data: ["pointer": .string(pointer)])
        guard method == nil, case .integer(let number)? = id, RequestID.callbacks.contains(number) else {
            return .broken(id: id, error)
        }
        return .reply(id: .integer(number), .empty(error))
    }

    /// A notification gets no reply.
    private func unusable(_ id: RequestID?, _ message: String, at pointer: String) -> Message {
        guard let id else { return .ignored }
        return .broken(id: id, RPCError(.invalidParams, message, data: ["pointer": .string(pointer)]))
    }

    /// Absent, null and `[]` mean `{}`; `[{…}]` means that object, for libraries that only know positions.
    private var lenientParams: JSONValue? {
        switch params {
        case nil, .null: .object(JSONObject())
        case .object: params
        case .array(let array) where array.isEmpty: .object(JSONObject())
        case .array(let array) where array.count == 1 && array[0].object != nil: array[0]
        default: nil
        }
    }

    private var reply: Message {
        guard let id, let id = try? RequestID(id, limits: MessageLimits()) else { return .ignored }
        if let error, error != .null { return .reply(id: id, .error(error)) }
        return .reply(id: id, .result(result ?? .null))
    }

    /// Cancels the call named in the params; without params, the call whose id stands beside the method, as Vim's
    /// manual writes it.
    private func lspCancel(_ id: RequestID?, _ limits: MessageLimits) -> Message {
        guard let params = lenientParams?.object else { return unusable(id, "params must be an object", at: "/params") }
        guard let named = params["id"] else { return id.map { .cancel($0, silently: false) } ?? .ignored }
        guard let target = try? RequestID(named, limits: limits) else {
            return unusable(id, "id must be the id of a call", at: "/id")
        }
        return .cancel(target, silently: false, own: id == target ? nil : id)
    }

    private func mcpCancel(_ limits: MessageLimits) -> Message {
        guard let named = lenientParams?.object?["requestId"], let target = try? RequestID(named, limits: limits)
        else { return .ignored }
        return .cancel(target, silently: true)
    }
}

extension RequestID {
    /// A string or an integer; an integral real counts, because Lua writes large integers so.
    package init(_ json: JSONValue, limits: MessageLimits = MessageLimits()) throws(RPCError) {
        switch json {
        case .string(let text):
            guard !text.isLonger(than: limits.idCharacters) else {
                throw RPCError(
                    .invalidRequest, "id must have at most \(limits.idCharacters) characters",
                    data: ["pointer": .string("/id"), "limit": .integer(Int64(limits.idCharacters))])
            }
            self = .string(text)
        default:
            guard let number = json.integer else { throw Self.notAnID }
            self = .integer(number)
        }
    }

    private static var notAnID: RPCError {
        RPCError(.invalidRequest, "id must be a string or an integer", data: ["pointer": .string("/id")])
    }

    package var json: JSONValue {
        switch self {
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        }
    }
}

extension String {
    /// Whether the text has more characters than the limit, or more than eight bytes for each permitted character: a
    /// character can have any number of bytes.
    fileprivate func isLonger(than characters: Int) -> Bool {
        utf8.count > characters && (utf8.count > 8 * characters || count > characters)
    }
}
