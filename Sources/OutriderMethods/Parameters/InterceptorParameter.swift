// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// An interceptor from a client: the handle of an interceptor, or the members that define a new interceptor.
enum InterceptorParameter: JSONDecodable, Sendable {
    case handle(String)
    case spec(InterceptorSpec)

    init(json: JSONValue) throws(JSONComplaint) {
        if case .string(let name) = json {
            self = .handle(name)
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be the handle of an interceptor or an object, not \(json.typeName)")
        }
        self = .spec(try InterceptorSpec(json: json))
    }
}

/// The definition of an interceptor: exactly one defining member, and its options.
struct InterceptorSpec: JSONDecodable, Sendable {
    enum Action: Sendable {
        /// Adapts and retries.
        case oauth(CredentialName)
        case adapt(Adaptation)
        case retry([Retrier], CallbackSpec?)
        case chain([InterceptorParameter])
        case callback(CallbackSpec, CallbackRoles, isCalledOnce: Bool)
    }

    /// The defining members, in the order of the contract.
    enum Kind: String, Sendable, CaseIterable {
        case headers, query, basic, bearer, oauth, retry, connectionLost, offline, compress, chain, callback
    }

    let action: Action
    let kind: Kind

    private enum Period: String, Sendable, CaseIterable { case attempt, request }

    init(json: JSONValue) throws(JSONComplaint) {
        if let (kind, action) = Self.plain(json) {
            (self.kind, self.action) = (kind, action)
            return
        }
        var fields = try JSONFields(json)
        var given: [(kind: Kind, value: JSONValue)] = []
        for kind in Kind.allCases { if let value = fields.value(kind.name) { given.append((kind, value)) } }
        let strays = fields.present(["decide", "timeout", "asks", "askPer"])
        let origins: [OriginParameter]? = try fields.optional("origins") { (origins: [OriginParameter]) in
            origins.isEmpty ? "must name at least one" : nil
        }
        let callback = try fields.callback()
        let roles: CallbackRoles? = try fields.optional("asks")
        let period: Period? = try fields.choice("askPer")
        try fields.finish()
        guard given.count == 1, let (kind, value) = given.first else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw JSONComplaint("must have exactly one of \(kinds)")
        }
        if callback == nil, let stray = strays.first?.description {
            throw JSONComplaint("\(stray) goes with callback only", at: JSONPointer(member: stray))
        }
        if origins != nil, kind != .basic, kind != .bearer {
            throw JSONComplaint("origins goes with basic and bearer only", at: JSONPointer(member: "origins"))
        }
        self.kind = kind
        action =
            if let callback {
                .callback(callback, roles ?? [.adapt, .retry], isCalledOnce: period == .request)
            } else {
                try Self.action(kind, value, origins?.map(\.url))
            }
    }

    /// The fast path for most interceptors: a single valid member.
    private static func plain(_ json: JSONValue) -> (Kind, Action)? {
        guard let members = json.object?.members, members.count == 1, let kind = Kind(rawValue: members[0].name),
            kind != .callback, members[0].value != .null
        else { return nil }
        return (try? action(kind, members[0].value, nil)).map { (kind, $0) }
    }

    private static func action(
        _ kind: Kind, _ value: JSONValue, _ origins: [HTTPURL]?
    ) throws(JSONComplaint) -> Action {
        switch kind {
        case .headers:
            let fields = try read(kind, value, as: FieldsParameter.self).checked(kind.rawValue)
            return .adapt(.headers(try checked(kind) { () throws(HTTPFailure) in try FieldChanges(fields) }))
        case .query:
            let object = try read(kind, value, as: ValuesParameter.self).object
            return .adapt(
                .query(try checked(kind) { () throws(HTTPFailure) in try QueryEncoding().encode(object, at: "") }))
        case .basic:
            let basic = try read(kind, value, as: BasicParameter.self)
            return .adapt(.credential(.basic(user: basic.user, password: basic.password, origins: origins)))
        case .bearer:
            let token = try read(kind, value, as: String.self)
            if token.isEmpty {
                throw JSONComplaint("bearer must not be empty", at: JSONPointer(member: kind.rawValue))
            }
            return .adapt(
                .credential(try checked(kind) { () throws(HTTPFailure) in try .bearer(token, origins: origins) }))
        case .oauth: return .oauth(try read(kind, value, as: CredentialName.self))
        case .retry:
            let retry = try read(kind, value, as: RetryParameter.self)
            return .retry(retry.retriers, retry.callback)
        case .connectionLost:
            return .retry(try read(kind, value, as: ConnectionLostParameter.self).retriers, nil)
        case .offline: return .retry(try read(kind, value, as: OfflineParameter.self).retriers, nil)
        case .compress: return .adapt(.compress(try read(kind, value, as: CompressParameter.self).compression))
        case .chain: return .chain(try read(kind, value, as: [InterceptorParameter].self))
        case .callback: throw JSONComplaint("callback must be a name", at: JSONPointer(member: kind.rawValue))
        }
    }

    private static func read<Value: JSONDecodable>(
        _ kind: Kind, _ value: JSONValue, as type: Value.Type
    ) throws(JSONComplaint) -> Value {
        do throws(JSONComplaint) {
            return try Value(json: value)
        } catch {
            var error = error
            if error.pointer == .root { error.message = "\(kind.rawValue) \(error.message)" }
            throw error.under(member: kind.rawValue)
        }
    }

    /// Reports an error early that would otherwise fail every request.
    private static func checked<Value>(
        _ kind: Kind, _ make: () throws(HTTPFailure) -> Value
    ) throws(JSONComplaint) -> Value {
        do throws(HTTPFailure) {
            return try make()
        } catch {
            throw JSONComplaint(error.message, at: JSONPointer(member: kind.rawValue))
        }
    }
}

extension InterceptorSpec.Kind {
    fileprivate var name: StaticString {
        switch self {
        case .headers: "headers"
        case .query: "query"
        case .basic: "basic"
        case .bearer: "bearer"
        case .oauth: "oauth"
        case .retry: "retry"
        case .connectionLost: "connectionLost"
        case .offline: "offline"
        case .compress: "compress"
        case .chain: "chain"
        case .callback: "callback"
        }
    }
}

/// Scheme, host and port; or the socket of a URL with `http+unix`.
private struct OriginParameter: JSONDecodable {
    var url: HTTPURL

    init(json: JSONValue) throws(JSONComplaint) {
        let text = try String(json: json)
        do throws(HTTPFailure) {
            url = try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint("must be an origin, such as https://api.example.com: \(error.message)")
        }
        guard url.target == "/", url.fragment == nil else {
            throw JSONComplaint("must be an origin without a path, such as https://api.example.com")
        }
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

/// The callbacks of a client's interceptor.
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
