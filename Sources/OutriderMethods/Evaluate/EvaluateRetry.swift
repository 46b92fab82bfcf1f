// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows the decision of a retry policy, without a request.
struct EvaluateRetry: Method {
    static let name = "evaluate.retry"

    struct Params: JSONDecodable {
        var retriers: [Retrier]
        var context: RetryContext

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            retriers = try fields.optional("retry", as: RetryParameter.self)?.retriers ?? [.policy(RetryPolicy())]
            context = RetryContext(method: "GET", chance: 1)
            if let method: String = try fields.optional("method") { context.method = method }
            context.status = try fields.integer("status", in: 100...999)
            if let headers: FieldsParameter = try fields.optional("headers") { context.fields = headers.fields }
            context.retries = try fields.integer("retries", in: 0...1_000_000) ?? 0
            context.elapsed = try fields.number("elapsed", in: 0...1_000_000_000) ?? 0
            let word: String? = try fields.optional("error")
            let isUnsent: Bool = try fields.optional("unsent") ?? false
            try fields.finish()
            if retriers.contains(where: { $0.isCallback }) {
                throw JSONComplaint(
                    "callback calls the client's code, which is not done here: leave it out",
                    at: JSONPointer(member: "callback").under(member: "retry"))
            }
            guard let word else { return }
            guard let kind = RetryWords.kinds[word]?.first else {
                let known = RetryWords.kinds.keys.sorted().joined(separator: ", ")
                throw JSONComplaint("error must be one of \(known)", at: JSONPointer(member: "error"))
            }
            context.failure = HTTPFailure(kind, "supposed", sent: isUnsent ? .notSent : .maybeSent)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        var context = params.context
        context.now = Int64(WallTime.now.seconds)
        var verdict = RetryVerdict.doNotRetry
        for retrier in params.retriers where verdict == .doNotRetry { verdict = retrier.verdict(context) ?? verdict }
        guard case .retry(let delay) = verdict else { return ReplyMembers { $0.member("retry", false) } }
        return ReplyMembers { writer in
            writer.member("retry", true)
            writer.member("delay", delay)
        }
    }
}

extension Retrier {
    fileprivate var isCallback: Bool {
        if case .callback = self { true } else { false }
    }
}
