// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderTransport

/// Starts a helper process and reads its response. The helper outlives the service until its work is done.
enum HelperProcess {
    /// The alarm of the helper ends the process earlier, so that this limit never interrupts a request.
    private static let seconds = 240.0

    /// Waits on a thread of its own, without a limit.
    static func run(_ order: HelperRequest) async -> HelperReport {
        await withUnsafeContinuation { continuation in
            let started = DetachedThread.start {
                let outcome = ChildProcess.run(
                    ["outrider", "credential-helper"], path: "/proc/self/exe", input: PackedWriter.secret(of: order),
                    isSheltered: true, seconds: seconds)
                continuation.resume(returning: report(outcome))
            }
            if !started { continuation.resume(returning: HelperReport(.failure(broken("no thread could be started")))) }
        }
    }

    private static func report(_ outcome: ChildProcess.Outcome) -> HelperReport {
        let failure: OAuthFailure
        switch outcome {
        case .ended(let status, let output):
            if let report = try? HelperReport(packed: PackedScanner(output)) { return report }
            failure = broken("it ended with status \(status)")
        case .tooMuch: failure = broken("its response is too long")
        case .tooLong: failure = broken("it did not respond")
        case .notStarted(let code): failure = broken("it could not be started: \(String(cString: strerror(code)))")
        }
        return HelperReport(.failure(failure))
    }

    private static func broken(_ why: String) -> OAuthFailure {
        OAuthFailure(.temporary, "keeper_failed", "the process that keeps credentials failed: \(why); try again")
    }
}
