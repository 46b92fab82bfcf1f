// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// The options of curl for the retries of a request.
struct RetryOptions: ParsableArguments {
    @Option(
        name: .long,
        help: """
            Retry so many times after a lost connection, 408, 429 or 500 to 504, if the request may be repeated. A body that \
            breaks off is resumed by `outrider download`, and with --retry-all-errors a file of -o is written anew.
            """)
    var retry: Int?

    @Flag(
        name: .customLong("retry-all-errors"),
        help: "With --retry: repeat also after other failures, and any method (the server may then see a POST twice).")
    var allErrors = false

    @Option(
        name: .customLong("retry-delay"),
        help: "With --retry: seconds before each retry; 0, the default: delays that double from half a second.")
    var delay: Double?

    @Option(
        name: .customLong("retry-max-time"),
        help: "With --retry: begin no retry later than so many seconds after the start; 0, the default: no limit.")
    var maxTime: Double?

    func validate() throws {
        if let retry, !(0...100).contains(retry) { throw ValidationError("--retry must be from 0 to 100") }
        if allErrors, retry == nil { throw ValidationError("--retry-all-errors needs --retry COUNT") }
        for (option, seconds) in [("--retry-delay", delay), ("--retry-max-time", maxTime)] {
            guard let seconds else { continue }
            if retry == nil { throw ValidationError("\(option) needs --retry COUNT") }
            if !(0...86400).contains(seconds) { throw ValidationError("\(option) must be from 0 to 86400 seconds") }
        }
    }

    var areWanted: Bool { retry.map { $0 > 0 } ?? false }

    /// Puts `retry` into the params of a request, which have its method; nothing without an option.
    ///
    /// - Parameter failsByStatus: a status of 400 or above is a failure.
    func add(to params: inout JSONObject, failsByStatus: Bool = false) {
        guard let retry else { return }
        var policy: JSONObject = ["limit": .integer(Int64(retry))]
        let statuses = allErrors && failsByStatus ? Array(400...599) : Self.statuses
        policy["statuses"] = .array(statuses.map { .integer($0) })
        if allErrors {
            policy["methods"] = .array([params["method"] ?? .string("GET")])
            policy["errors"] = .array(Self.errors.map { .string($0) })
        }
        if let delay, delay > 0 {
            // a first delay that is the longest one, too, is every delay
            policy["scale"] = .real(delay)
            policy["maxDelay"] = .real(delay)
        }
        if let maxTime, maxTime > 0 { policy["deadline"] = .real(maxTime) }
        params["retry"] = .object(policy)
    }

    /// The options for sending a request anew whose body broke off, with the seconds before; nil if no retry is left.
    ///
    /// - Parameters:
    ///   - attempts: of this request, with these options.
    ///   - number: of the retry among all of the command, from 1.
    ///   - elapsed: seconds since the first attempt, which these options do not count yet.
    func rest(after attempts: Int, retry number: Int, elapsed: Double) -> (options: RetryOptions, delay: Double)? {
        guard allErrors, let retry, attempts <= retry else { return nil }
        let usual = 0.5 * Double(1 << min(max(number - 1, 0), 7))
        let wait = delay.flatMap { $0 > 0 ? $0 : nil } ?? usual
        var options = self
        options.retry = retry - attempts
        if let maxTime, maxTime > 0 {
            guard elapsed + wait < maxTime else { return nil }
            options.maxTime = maxTime - elapsed - wait
        }
        return (options, wait)
    }

    private static let statuses: [Int64] = [408, 429, 500, 502, 503, 504]

    /// The kinds of failures that another attempt can end, or not: everything that has to do with the network.
    private static let errors = [
        "nameNotFound", "refused", "unreachable", "connectionLost", "timedOut", "tlsHandshake", "offline", "proxy",
        "malformedHTTP", "responseTooLarge", "tooManyRedirects",
    ]
}
