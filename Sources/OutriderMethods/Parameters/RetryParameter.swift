// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The retriers: a policy, "connectionLost", `offline`, or a callback to the client.
struct RetryParameter: JSONDecodable {
    var retriers: [Retrier]
    /// The callback; a retrier names the same callback.
    var callback: CallbackSpec?

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .string("connectionLost"): retriers = [.policy(.connectionLost)]
        case .bool(let flag): retriers = flag ? [.policy(RetryPolicy())] : []
        case .object: self = try Self.read(json)
        case .array(let list) where list.isEmpty: retriers = [.policy(RetryPolicy())]
        default: throw JSONComplaint("must be true, \"connectionLost\" or an object, not \(json.typeName)")
        }
    }

    private init(_ retriers: [Retrier], _ callback: CallbackSpec?) {
        self.retriers = retriers
        self.callback = callback
    }

    private static func read(_ json: JSONValue) throws(JSONComplaint) -> RetryParameter {
        var fields = try JSONFields(json)
        let callback = try fields.optionalCallback()
        let offline: OfflineParameter? = try fields.optional("offline")
        var policy = RetryPolicy()
        let hasPace = try policy.readPace(&fields)
        let hasCauses = try policy.readCauses(&fields)
        try fields.finish()
        var retriers: [Retrier] = []
        // options of a policy imply the policy, and so does an empty object
        if hasPace || hasCauses { retriers.append(.policy(policy)) }
        if let offline { retriers += offline.retriers }
        if let callback { retriers.append(.callback(callback.name)) }
        return RetryParameter(retriers.isEmpty ? [.policy(RetryPolicy())] : retriers, callback)
    }
}

/// A policy for lost connections: `true`, or an object of changes; `false` for none.
struct ConnectionLostParameter: JSONDecodable {
    var retriers: [Retrier]

    init(json: JSONValue) throws(JSONComplaint) {
        var policy = RetryPolicy.connectionLost
        if case .bool(let flag) = json {
            retriers = flag ? [.policy(policy)] : []
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object")
        }
        var fields = try JSONFields(json)
        _ = try policy.readPace(&fields)
        try fields.finish()
        retriers = [.policy(policy)]
    }
}

/// Waiting for a network: `{wait, requiredInterface, prohibitedInterfaces}`, `true` for Alamofire's 5 seconds, or
/// `false` for no wait.
struct OfflineParameter: JSONDecodable {
    var retriers: [Retrier]

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            retriers = flag ? [.offline(wait: 5)] : []
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object")
        }
        var fields = try JSONFields(json)
        let wait = try fields.number("wait", in: 0...RetryPolicy.longest)
        let required: NetworkInterface.Kind? = try fields.choice("requiredInterface")
        let prohibited: [InterfaceKindParameter]? = try fields.optional("prohibitedInterfaces")
        try fields.finish()
        let rule = InterfaceRule(required: required, prohibited: Set((prohibited ?? []).map(\.kind)))
        if let required, rule.prohibited.contains(required) {
            throw JSONComplaint(
                "prohibitedInterfaces has \(required.rawValue), which requiredInterface demands: name it in one of the two",
                at: JSONPointer(member: "prohibitedInterfaces"))
        }
        retriers = [.offline(wait: wait ?? 5, over: rule)]
    }
}

private struct InterfaceKindParameter: JSONDecodable {
    var kind: NetworkInterface.Kind

    init(json: JSONValue) throws(JSONComplaint) {
        guard let kind = NetworkInterface.Kind(rawValue: try String(json: json)) else {
            let kinds = NetworkInterface.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw JSONComplaint("must be one of \(kinds)")
        }
        self.kind = kind
    }
}

extension RetryPolicy {
    /// The longest delay, in seconds. There is no endless delay.
    fileprivate static let longest = 86400.0

    /// Reads limits, delays and methods. False if all are absent.
    fileprivate mutating func readPace(_ fields: inout JSONFields) throws(JSONComplaint) -> Bool {
        let said = fields.present(["limit", "base", "scale", "maxDelay", "jitter", "methods", "unsent", "deadline"])
        limit = try fields.integer("limit", in: 0...100) ?? limit
        backoff.base = try fields.number("base", in: 2...1000) ?? backoff.base
        backoff.scale = try fields.number("scale", in: 0...Self.longest) ?? backoff.scale
        backoff.longest = try fields.number("maxDelay", in: 0...Self.longest) ?? backoff.longest
        backoff.jitter = try fields.choice("jitter") ?? backoff.jitter
        methods = try fields.methods("methods").map { Set($0) } ?? methods
        repeatsUnsent = try fields.optional("unsent") ?? repeatsUnsent
        deadline = try fields.number("deadline", in: 0...Self.longest) ?? deadline
        return !said.isEmpty
    }

    /// Reads the causes of retries. False if all are absent.
    fileprivate mutating func readCauses(_ fields: inout JSONFields) throws(JSONComplaint) -> Bool {
        let said = fields.present(["statuses", "errors", "onStatus", "respectRetryAfter", "maxRetryAfter"])
        statuses = try Self.statuses(&fields) ?? statuses
        kinds = try Self.kinds(&fields) ?? kinds
        repeatsResponses = try fields.optional("onStatus") ?? repeatsResponses
        respectsRetryAfter = try fields.optional("respectRetryAfter") ?? respectsRetryAfter
        longestRetryAfter = try fields.number("maxRetryAfter", in: 0...Self.longest) ?? longestRetryAfter
        return !said.isEmpty
    }

    private static func statuses(_ fields: inout JSONFields) throws(JSONComplaint) -> Set<Int>? {
        guard let list = try fields.optional("statuses", as: [Int].self) else { return nil }
        for (index, status) in list.enumerated() where !(100...999).contains(status) {
            throw JSONComplaint("must be from 100 to 999").under(index: index).under(member: "statuses")
        }
        return Set(list)
    }

    private static func kinds(_ fields: inout JSONFields) throws(JSONComplaint) -> Set<HTTPFailure.Kind>? {
        guard let words = try fields.optional("errors", as: [String].self) else { return nil }
        var kinds: Set<HTTPFailure.Kind> = []
        for (index, word) in words.enumerated() {
            guard let named = RetryWords.kinds[word] else {
                let known = RetryWords.kinds.keys.sorted().joined(separator: ", ")
                throw JSONComplaint("must be one of \(known)").under(index: index).under(member: "errors")
            }
            kinds.formUnion(named)
        }
        return kinds
    }
}

/// The names of failures in a policy: `error.reason`, or `error.kind` for failures without a reason.
///
/// Event streams and WebSockets share `reconnectLimit`.
enum RetryWords {
    static let kinds: [String: [HTTPFailure.Kind]] = {
        var kinds: [String: [HTTPFailure.Kind]] = [:]
        for kind in HTTPFailure.Kind.allCases where !kind.isEnd {
            let code = kind.failureCode
            kinds[(code.reason ?? code.kind).description, default: []].append(kind)
        }
        return kinds
    }()
}
