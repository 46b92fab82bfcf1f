// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderServer
import OutriderTransport

/// The credential helper, the only process with plain secrets: started by the service for a single request.
struct CredentialHelperCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential-helper", abstract: "Keeps credentials; started by the service, not by people.",
        shouldDisplay: false)

    private static let mostBytes = 1 << 20

    func run() async throws { try await Self.run() }

    static func run() async throws {
        // before any thread starts: if the system refuses threads, the alarm still ends the process
        CredentialHelper.shut()
        guard isatty(STDIN_FILENO) == 0 else {
            throw CommandFailure(.usage, "the helper is started by the service: see outrider credentials")
        }
        var input: [UInt8] = []
        while input.count <= mostBytes, let piece = try FileBytes.read(STDIN_FILENO) { input += piece }
        let report: HelperReport
        if input.count > mostBytes {
            report = HelperReport(
                .failure(
                    OAuthFailure(
                        .config, "too_long",
                        "the secrets and settings of a credential are longer than \(mostBytes) bytes")))
        } else if (try? ThreadRoom.check(1)) == nil {
            report = HelperReport(
                .failure(OAuthFailure(.store, "keeper_failed", "the system has no room for a thread of the helper")))
        } else if let order = try? HelperRequest(packed: PackedScanner(input)) {
            let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            // there is no other work, and no thread must wake between reading a response and storing its contents
            report = await withTaskExecutorPreference(LoopExecutor(loops.next())) {
                await CredentialHelper.run(order, transport: HTTPTransport(group: loops))
            }
        } else {
            report = HelperReport(
                .failure(OAuthFailure(.store, "keeper_failed", "the helper did not understand its order")))
        }
        // the service may be gone: completed work stays done
        try? StandardOutput.write(PackedWriter.bytes(of: report))
        _exit(0)
    }
}
