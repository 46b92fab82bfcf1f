// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON
import Synchronization

/// A download as a shell follows it: started, watched, and cancelled in good order after Ctrl-C.
struct Transfer {
    /// Draws the progress; nil if standard error is no terminal.
    let meter: ProgressMeter?

    /// The Response, of success or failure.
    func run(_ params: JSONObject, over client: inout ServiceClient) throws(CommandFailure) -> JSONObject {
        guard let request = try client.object("download.start", params, by: .never)["request"]?.string else {
            throw CommandFailure(.brokeProtocol, "the result names no request")
        }
        var isCancelled = false
        while true {
            if Interrupts.wasAsked, !isCancelled {
                isCancelled = true
                _ = try call("request.cancel", ["request": .string(request), "resumeData": .bool(true)], over: &client)
            }
            let wish: JSONObject = ["request": .string(request), "timeout": .real(0.2)]
            let response = try call("request.wait", wish, over: &client)
            if response["pending"] != .bool(true) { return response }
        }
    }

    private func call(
        _ method: String, _ params: JSONObject, over client: inout ServiceClient
    ) throws(CommandFailure) -> JSONObject {
        let meter = meter
        return try client.object(method, params, by: .never) { event throws(CommandFailure) in meter?.receive(event) }
    }
}

/// Whether a signal has asked this command to end.
enum Interrupts {
    private static let count = Atomic(0)

    static var wasAsked: Bool { count.load(ordering: .relaxed) > 0 }

    /// Nohup and shells ignore signals for background processes.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// The first signal is noted, the second signal ends the program as usual.
    static func watch() {
        _ = wasAsked
        for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) {
            signal(number) { number in
                if Interrupts.count.add(1, ordering: .relaxed).oldValue > 0 {
                    signal(number, SIG_DFL)
                    raise(number)
                }
            }
        }
    }
}
