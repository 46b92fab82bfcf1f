// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What all failures have in common.
struct FailureTests {
    /// EMFILE and ENFILE.
    @Test(arguments: [24, 23], [HTTPFailure.Underlying.Domain.posix, .file])
    func `a want of descriptors is a failure of its own, whatever was attempted`(
        code: Int, domain: HTTPFailure.Underlying.Domain
    ) {
        let underlying = HTTPFailure.Underlying(domain, code, "Too many open files")
        for kind in [HTTPFailure.Kind.bodyUnreadable, .fileWriteFailed, .unreachable, .limitExceeded] {
            var failure = HTTPFailure(kind, "it failed", retryable: false, underlying: underlying)
            #expect(failure.kind == .tooManyOpenFiles && failure.retryable)
            failure.kind = .outputStreamCreationFailed
            #expect(failure.kind == .tooManyOpenFiles)
        }
        #expect(HTTPFailure(.nameNotFound, "it failed", underlying: .init(.dns, code, "")).kind == .nameNotFound)
    }

    @Test func `a message never holds more than 200 characters of a name`() {
        let name = String(repeating: "x", count: 3000)
        let failure = HTTPFailure(.invalidURL, "the host \(name) is too long", pointer: "/headers/\(name)")
        #expect(failure.message == "the host \(String(repeating: "x", count: 200))… is too long")
        #expect(failure.pointer == "/headers/\(String(repeating: "x", count: 200))…")
    }
}
