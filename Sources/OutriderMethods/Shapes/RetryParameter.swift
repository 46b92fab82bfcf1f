// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Who is asked about a retry: a policy, "connectionLost", `offline`, or the client's code.
struct RetryParameter: JSONDecodable {
    var retriers: [Retrier]
    /// Who is asked; one of the retriers names it, too.
    var callback: CallbackSpec?

    /// The longest delay that can be asked for. There is none for ever.
    private static let longest = 86400.0

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
        let callback = try fields.callback()
        let offline: OfflineParameter? = try fields.optional("offline")
        let policy = try readPolicy(&fields)
        try fields.finish()
        var retriers: [Retrier] = []
        // what is said of a policy is wanted, and so is one if nothing at all is said
        if let policy { retriers.append(.policy(policy)) }
        if let offline { retriers.append(.offline(wait: offline.wait)) }
        if let callback { retriers.append(.callback(callback.name)) }
        return RetryParameter(retriers.isEmpty ? [.policy(RetryPolicy())] : retriers, callback)
    }

    private static func readPolicy(_ fields: inout JSONFields) throws(JSONComplaint) -> RetryPolicy? {
        var policy = RetryPolicy()
        let plain = policy
        var isSaid = false
        func note<Value>(_ value: Value?, _ change: (Value) -> Void) {
            guard let value else { return }
            isSaid = true
            change(value)
        }
        note(try fields.integer("limit", in: 0...100)) { policy.limit = $0 }
        note(try fields.number("base", in: 2...1000)) { policy.backoff.base = $0 }
        note(try fields.number("scale", in: 0...longest)) { policy.backoff.scale = $0 }
        note(try fields.number("maxDelay", in: 0...longest)) { policy.backoff.longest = $0 }
        note(try fields.choice("jitter", of: Backoff.Jitter.self)) { policy.backoff.jitter = $0 }
        note(try fields.optional("methods", as: [String].self)) { policy.methods = Set($0) }
        note(try statuses(&fields)) { policy.statuses = $0 }
        note(try kinds(&fields)) { policy.kinds = $0 }
        note(try fields.optional("onStatus", as: Bool.self)) { policy.repeatsAnswers = $0 }
        note(try fields.optional("unsent", as: Bool.self)) { policy.repeatsUnsent = $0 }
        note(try fields.optional("respectRetryAfter", as: Bool.self)) { policy.respectsRetryAfter = $0 }
        note(try fields.number("maxRetryAfter", in: 0...longest)) { policy.longestRetryAfter = $0 }
        note(try fields.number("deadline", in: 0...longest)) { policy.deadline = $0 }
        return isSaid || policy != plain ? policy : nil
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
            guard let kind = RetryWords.kinds[word] else {
                let known = RetryWords.kinds.keys.sorted().joined(separator: ", ")
                throw JSONComplaint("must be one of \(known)").under(index: index).under(member: "errors")
            }
            kinds.insert(kind)
        }
        return kinds
    }

    private struct OfflineParameter: JSONDecodable {
        var wait = 5.0

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            if let wait = try fields.number("wait", in: 0...longest) { self.wait = wait }
            try fields.finish()
        }
    }
}

/// What failures are called where a policy lists them: as in `error.reason`, or `error.kind` where there is none.
enum RetryWords {
    static let kinds: [String: HTTPFailure.Kind] = {
        var kinds: [String: HTTPFailure.Kind] = [:]
        for kind in HTTPFailure.Kind.allCases where !kind.isEnd {
            let code = kind.failureCode
            kinds[(code.reason ?? code.kind).description] = kind
        }
        return kinds
    }()
}
