// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// An interceptor as a client gives it: the handle of one that was created, or what it shall do.
enum InterceptorParameter: JSONDecodable, Sendable {
    case handle(String)
    case spec(InterceptorSpec)

    init(json: JSONValue) throws(JSONComplaint) {
        if case .string = json {
            self = .handle(try String(json: json))
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be the handle of an interceptor or an object, not \(json.typeName)")
        }
        self = .spec(try InterceptorSpec(json: json))
    }
}

/// What an interceptor shall do: exactly one of the members that say so, and what goes with it.
struct InterceptorSpec: JSONDecodable, Sendable {
    enum Action: Sendable {
        case adapt(Adaptation)
        case retry([Retrier], CallbackSpec?)
        case chain([InterceptorParameter])
        case callback(CallbackSpec, CallbackRoles, isAskedOnce: Bool)
    }

    let action: Action
    /// The name of the member.
    let what: String

    private static let actions: [StaticString] = [
        "headers", "query", "basic", "bearer", "retry", "chain", "callback",
    ]

    private enum Period: String, Sendable, CaseIterable { case attempt, request }

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.actions)
        let strays = fields.present(["decide", "timeout", "asks", "askPer"])
        let headers: FieldsParameter? = try fields.optional("headers")
        let query: ValuesParameter? = try fields.optional("query")
        let basic: BasicParameter? = try fields.optional("basic")
        let bearer: String? = try fields.optional("bearer")
        let retry: RetryParameter? = try fields.optional("retry")
        let chain: [InterceptorParameter]? = try fields.optional("chain")
        let callback = try fields.callback()
        let roles: CallbackRoles? = try fields.optional("asks")
        let period: Period? = try fields.choice("askPer")
        if fields.all["oauth"] != nil {
            throw JSONComplaint(
                "oauth credentials are not part of this version: refresh the token in a callback",
                at: JSONPointer(member: "oauth"))
        }
        try fields.finish()
        guard present.count == 1, let what = present.first?.description else {
            throw JSONComplaint("must have exactly one of \(Self.actions.map(\.description).joined(separator: ", "))")
        }
        if callback == nil, let stray = strays.first?.description {
            throw JSONComplaint("\(stray) goes with callback only", at: JSONPointer(member: stray))
        }
        if let headers {
            action = .adapt(.headers(try Self.checked(headers.fields, "headers")))
        } else if let query {
            action = .adapt(.query(query.object))
        } else if let basic {
            action = .adapt(.basic(user: basic.user, password: basic.password))
        } else if let bearer {
            _ = try Self.checked([HTTPFields.Field("Authorization", bearer)], "bearer")
            action = .adapt(.bearer(bearer))
        } else if let retry {
            action = .retry(retry.retriers, retry.callback)
        } else if let chain {
            action = .chain(chain)
        } else if let callback {
            action = .callback(callback, roles ?? [.adapt, .retry], isAskedOnce: period == .request)
        } else {
            throw JSONComplaint("must not be null", at: JSONPointer(member: what))
        }
        self.what = what
    }

    /// Says at once what would otherwise fail with every request.
    private static func checked(_ fields: HTTPFields, _ member: String) throws(JSONComplaint) -> HTTPFields {
        do throws(HTTPFailure) {
            try AttemptBuilder.check(fields)
        } catch {
            throw JSONComplaint(error.message, at: JSONPointer(member: member))
        }
        return fields
    }
}

/// A user name and a password.
private struct BasicParameter: JSONDecodable {
    var user: String
    var password: String

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let user: String? = try fields.optional("user") { (user: String) in
            user.utf8.contains(UInt8(ascii: ":")) ? "must not contain a colon (RFC 7617)" : nil
        }
        let password: String? = try fields.optional("password")
        try fields.finish()
        self.user = try JSONFields.need("user", user)
        self.password = try JSONFields.need("password", password)
    }
}

/// What a client's code is asked as an interceptor.
struct CallbackRoles: OptionSet, Sendable {
    var rawValue: UInt8

    static let adapt = CallbackRoles(rawValue: 1)
    static let retry = CallbackRoles(rawValue: 2)
}

extension CallbackRoles: JSONDecodable {
    init(json: JSONValue) throws(JSONComplaint) {
        self = []
        for (index, word) in try [String](json: json).enumerated() {
            switch word {
            case "adapt": insert(.adapt)
            case "retry": insert(.retry)
            default: throw JSONComplaint("asks must hold adapt and retry only").under(index: index)
            }
        }
        if isEmpty { throw JSONComplaint("must hold adapt, retry or both") }
    }
}
