// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The failure for a connection that ended before the response was complete.
struct ConnectionError {
    let failure: HTTPFailure

    init(
        _ end: ConnectionEnd, _ error: (any Error)?, host: String, phase: HTTPFailure.Phase,
        body: (got: Int64, of: Int64?)
    ) {
        if var failure = error as? HTTPFailure {
            failure.phase = failure.phase ?? phase
            self.failure = failure
            return
        }
        if let error = error as? ResponseFault {
            failure = FailureBridge.exchange(error, with: host, phase: phase)
            return
        }
        let underlying = error.map(FailureBridge.underlying)
        let cause = underlying.map { ": \($0.message)" } ?? ""
        let text =
            switch end {
            case .beforeResponse: "\(host) closed the connection without an answer\(cause)"
            case .inHead: "\(host) closed the connection in the middle of the response's head\(cause)"
            case .inBody, .endsBody: "the connection to \(host) was lost in the body: got \(Self.count(body))\(cause)"
            case .unprocessed: "\(host) closed the connection, and refused the request without looking at it\(cause)"
            case .needsHTTP11: "\(host) wants this request over HTTP/1.1\(cause)"
            case .quiet: "the connection to \(host) was lost\(cause)"
            }
        failure = HTTPFailure(.connectionLost, text, phase: phase, underlying: underlying)
    }

    private static func count(_ body: (got: Int64, of: Int64?)) -> String {
        body.of.map { "\(body.got) of \($0) bytes" } ?? "\(body.got) bytes and no end"
    }
}

extension HTTPFailure {
    static func cancelled(_ sent: Sent) -> HTTPFailure {
        HTTPFailure(.explicitlyCancelled, "the request was cancelled", sent: sent)
    }
}
