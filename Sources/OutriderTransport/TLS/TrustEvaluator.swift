// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP

final class TrustEvaluator: Sendable {
    struct Subject: Hashable, Sendable {
        var host: String
        var isAddress: Bool
        var trust: Trust
    }
    init() {}
    func judge(
        _ chain: [NIOSSLCertificate], of subject: Subject, on loop: any EventLoop,
        _ verdict: @escaping @Sendable (HTTPFailure?) -> Void
    ) {
        verdict(HTTPFailure(.trustEvaluationFailed, "not yet"))
    }
}
