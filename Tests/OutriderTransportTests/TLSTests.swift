// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOSSL
import OutriderHTTP
import OutriderTransport
import Testing

/// What makes a server believed, and what is said when it is not.
@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    private func server(_ certificate: String) async throws -> ScriptedServer {
        try await ScriptedServer(tls: TestCertificates.context(certificate)) { _ in [.ok("secret")] }
    }

    private func attempt(_ server: ScriptedServer, host: String = "localhost", roots: String = "ca") throws -> Attempt {
        var attempt = Attempt.local(server.port)
        attempt.url.scheme = .https
        attempt.url.host = host
        attempt.security = SecurityPlan(roots: RootsSpec(file: try TestCertificates.path("\(roots).pem")))
        return attempt
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `a certificate of a root that the caller names is believed`(host: String) async throws {
        let server = try await server("good")
        let transport = makeTransport()
        let first = try await transport.wholeResponse(attempt(server, host: host))
        let second = try await transport.wholeResponse(attempt(server, host: host))
        #expect(first.text == "secret" && first.timeline.tlsVersion == "TLSv1.3" && first.timeline.tls != nil)
        #expect(second.timeline.reused && second.timeline.tls == nil)
        await server.close()
    }

    @Test(arguments: [
        ("expired", "the certificate of localhost expired on 2020-03-01"),
        ("early", "the certificate of localhost is not valid before 2039-02-01"),
        ("own", "the certificate of localhost is not trusted: it is self-signed"),
        ("client", "the certificate of localhost is not trusted: it is not meant for servers"),
    ])
    func `a bad certificate is refused with its reason`(name: String, reason: String) async throws {
        let server = try await server(name)
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .trustEvaluationFailed)
        #expect(failure?.message.hasPrefix(reason) == true, "\(failure?.message ?? "")")
        #expect(failure?.phase == .tls && failure?.sent == .notSent && failure?.retryable == false)
        #expect(server.requests.isEmpty)
        await server.close()
    }

    @Test func `a certificate for other hosts names them`() async throws {
        let server = try await server("elsewhere")
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .hostValidationFailed)
        #expect(
            failure?.message == "the certificate of localhost is for another host: it names "
                + "example.test, *.example.test, 10.0.0.1")
        let address = try await makeTransport().failure(attempt(server, host: "127.0.0.1"))
        #expect(address?.kind == .hostValidationFailed)
        await server.close()
    }

    @Test func `an unknown issuer is named`() async throws {
        let server = try await server("good")
        let failure = try await makeTransport().failure(attempt(server, roots: "other"))
        #expect(failure?.kind == .trustEvaluationFailed)
        #expect(failure?.message.contains("its issuer CN=Test Root is not known") == true, "\(failure?.message ?? "")")
        var system = try attempt(server)
        system.security = .standard
        #expect(await makeTransport().failure(system)?.kind == .trustEvaluationFailed)
        await server.close()
    }

    @Test func `a connection made with one trust does not serve another`() async throws {
        let server = try await server("good")
        let transport = makeTransport()
        _ = try await transport.wholeResponse(attempt(server))
        let failure = try await transport.failure(attempt(server, roots: "other"))
        #expect(failure?.kind == .trustEvaluationFailed)
        await server.close()
    }

    @Test func `a file of roots is read again when it has changed`() async throws {
        let server = try await server("good")
        let file = try TestCertificates.path("changing.pem")
        let copy = { (name: String) in run("/bin/cp", [try TestCertificates.path(name), file]) }
        #expect(try copy("other.pem") == 0)
        let transport = makeTransport()
        var attempt = try attempt(server)
        attempt.security = SecurityPlan(roots: RootsSpec(file: file))
        #expect(await transport.failure(attempt)?.kind == .trustEvaluationFailed)
        #expect(try copy("ca.pem") == 0)
        #expect(try await transport.wholeResponse(attempt).text == "secret")
        #expect(unlink(file) == 0)
        attempt.url.host = "127.0.0.1"
        let failure = await transport.failure(attempt)
        #expect(failure?.kind == .settingAnchorCertificatesFailed && failure?.message.contains(file) == true)
        await server.close()
    }

    @Test func `TLS below 1.2 is refused`() async throws {
        let context = try TestCertificates.context("good", most: .tlsv11)
        let server = try await ScriptedServer(tls: context) { _ in [.ok("old")] }
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .tlsHandshakeFailed && failure?.phase == .tls)
        await server.close()
    }

    @Test func `a server that does not speak TLS is told apart`() async throws {
        let server = try await ScriptedServer(greeting: "HTTP/1.1 400 Bad Request\r\n\r\n") { _ in [] }
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .tlsHandshakeFailed)
        let message = failure?.message ?? ""
        #expect(message.contains("the server speaks plain HTTP on this port"), "\(message)")
        await server.close()
    }

    @Test func `an alert without a name is told by its number`() async throws {
        // a fatal alert, 109
        let server = try await ScriptedServer(greeting: "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}m") { _ in [] }
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .tlsHandshakeFailed)
        #expect(failure?.message.contains("sent the alert 109") == true, "\(failure?.message ?? "")")
        await server.close()
    }

    @Test func `a handshake that stalls times out in its phase`() async throws {
        let server = try await ScriptedServer { _ in [] }
        var attempt = try attempt(server)
        attempt.timeouts.tls = 0.2
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .tls)
        #expect(failure?.message == "localhost: the TLS handshake took more than 0.2 s")
        await server.close()
    }

    @Test(arguments: [ScriptedServer.Step.cut, .reset])
    func `a body that is cut off without a goodbye is no body`(end: ScriptedServer.Step) async throws {
        let context = try TestCertificates.context("good")
        let server = try await ScriptedServer(tls: context) { _ in
            [.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it"), .pause(0.05), end]
        }
        let failure = try await makeTransport().failure(attempt(server))
        #expect(failure?.kind == .connectionLost && failure?.phase == .response)
        await server.close()
    }
}
