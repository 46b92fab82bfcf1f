// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The failure for a connection, or a stream, that ended before the response was complete.
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
        let isReset = (error as? HTTP2Fault)?.isOfStream == true
        let ended = isReset ? "\(host) reset the stream" : FailureBridge.ended(host, error)
        let text =
            switch end {
            case .beforeResponse: "\(ended) without an answer\(cause)"
            case .inHead: "\(ended) before the head of the response was complete\(cause)"
            case .inBody where isReset: "\(host) reset the stream in the body: got \(Self.count(body))\(cause)"
            case .inBody, .endsBody: "the connection to \(host) was lost in the body: got \(Self.count(body))\(cause)"
            case .unprocessed, .passedOver: "\(host) refused the request without looking at it\(cause)"
            case .needsHTTP11: "\(host) wants this request over HTTP/1.1 (use httpVersion \"1.1\")\(cause)"
            case .quiet: "the connection to \(host) was lost\(cause)"
            }
        // the same server would say the same again
        let kind = end == .needsHTTP11 ? HTTPFailure.Kind.protocolNotNegotiated : .connectionLost
        failure = HTTPFailure(kind, text, phase: phase, underlying: underlying)
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
