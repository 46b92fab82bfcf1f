// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOSSL
import OutriderHTTP

/// Maps errors of libraries and the system to failures of the service.
enum FailureBridge {
    /// The failure of connecting to an address.
    ///
    /// The last two are evaluated only if relevant.
    static func connecting(
        _ error: any Error, to address: SocketAddress, isOffline: @autoclosure () -> Bool,
        hasOwnAddress: @autoclosure () -> Bool
    ) -> HTTPFailure {
        if let failure = error as? HTTPFailure { return failure }
        let underlying = underlying(error)
        let code = (error as? IOError)?.errnoCode
        let place = address.plain
        switch code {
        case ECONNREFUSED:
            return HTTPFailure(
                .connectionRefused, "\(place) refused the connection", phase: .connect, underlying: underlying)
        case ENOENT where address.protocol == .unix:
            return HTTPFailure(
                .connectionRefused, "there is no socket at \(place)", phase: .connect, underlying: underlying)
        case EMFILE, ENFILE:
            let text =
                "no connection to \(place) could be opened: the service has too many open files (try again later)"
            return HTTPFailure(.tooManyOpenFiles, text, phase: .connect, underlying: underlying)
        case EADDRNOTAVAIL where hasOwnAddress():
            let text =
                "no local address or port is free for a connection to \(place): "
                + "too many connections to it are open, or were closed within the last minute"
            return HTTPFailure(.unreachable, text, phase: .connect, underlying: underlying)
        case ENETUNREACH, ENETDOWN,
            // the network does not bring an address of this machine
            EADDRNOTAVAIL where address.outwardBytes != nil:
            guard isOffline() else { fallthrough }
            return HTTPFailure(
                .offline, "there is no network, and so no way to \(place)", phase: .connect, underlying: underlying)
        default:
            let text = "\(place) cannot be reached: \(underlying.message)"
            return HTTPFailure(.unreachable, text, phase: .connect, underlying: underlying)
        }
    }

    /// The failure of a TLS handshake, except for certificates: the evaluator describes those.
    static func handshake(_ error: (any Error)?, with host: String, _ settings: TLSSettings) -> HTTPFailure {
        if let failure = error as? HTTPFailure { return failure }
        guard let error, !isEndOfHandshake(error) else {
            let text = "\(host) closed the connection during the TLS handshake"
            // a server that does not speak TLS ends the connection as well, each time
            return HTTPFailure(.tlsHandshakeFailed, text, phase: .tls, retryable: error == nil)
        }
        let underlying = underlying(error)
        if error is IOError || error is ChannelError {
            let text = "the connection to \(host) was lost during the TLS handshake: \(underlying.message)"
            return HTTPFailure(.tlsHandshakeFailed, text, phase: .tls, retryable: true, underlying: underlying)
        }
        let reason = reason(of: error)
        let alert = alert(in: reason)
        let words = alert.map { "the server sent the alert \($0)" } ?? reason
        let hint = hint(reason, alert, settings).map { " (\($0))" } ?? ""
        let text = "the TLS handshake with \(host) failed: \(words)\(hint)"
        return HTTPFailure(
            .tlsHandshakeFailed, text, phase: .tls, underlying: underlying, details: alert.map { [.alert($0)] } ?? [])
    }

    /// Whether the server ended the connection during the handshake.
    private static func isEndOfHandshake(_ error: any Error) -> Bool {
        guard case NIOSSLError.handshakeFailed(.sslError(let stack)) = error else { return false }
        return stack == [.eofDuringHandshake] || stack == [.eofDuringAdditionalCertficiateChainValidation]
    }

    private static func hint(_ reason: String, _ alert: String?, _ settings: TLSSettings) -> String? {
        if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") { return "does it speak TLS?" }
        if reason.contains("KEY_USAGE_BIT_INCORRECT") {
            return "the key usage of its certificate does not permit the handshake: it needs digitalSignature"
        }
        let isOld = alert == "protocol_version" || reason.contains("UNSUPPORTED_PROTOCOL")
        if isOld {
            let least = settings.minVersion?.rawValue ?? TLSSettings.Version.v12.rawValue
            let most = settings.maxVersion.map { $0.rawValue == least ? "" : " to \($0.rawValue)" }
            return "it does not speak TLS \(least)\(most ?? " or later"); minVersion and maxVersion say what is offered"
        }
        switch alert {
        case "handshake_failure", "insufficient_security":
            let more = settings.ciphers == .compatible ? "groups offers others" : "ciphers: \"compatible\" offers more"
            return "it accepts none of the offered ciphers and groups, or wants a client certificate; \(more)"
        case "unrecognized_name": return "it does not know the server name; serverName sends another one"
        case "no_application_protocol": return "it accepts none of the offered protocols"
        default: return nil
        }
    }

    /// The failure if a server asked for a client certificate and ended the connection; nil if the end has another
    /// cause.
    static func clientCertificate(
        _ certificate: TLSFacts.ClientCertificate, _ error: (any Error)?, with host: String
    ) -> HTTPFailure? {
        var alert: String?
        if let error { alert = Self.alert(in: reason(of: error)) }
        let details: [FailureDetail] = alert.map { [.alert($0)] } ?? []
        switch certificate {
        case .requested:
            let isAbout = alert.map { certificateAlerts.contains($0) } ?? true
            guard isAbout else { return nil }
            let text = "\(host) wants a client certificate, and none is configured (give tls.identity)"
            return HTTPFailure(
                .clientCertificateRequired, text, phase: .tls, retryable: false,
                underlying: error.map(underlying), details: details)
        case .sent:
            guard let alert, certificateAlerts.contains(alert) else { return nil }
            let text =
                "\(host) refused the client certificate with the alert \(alert) (check its issuer, its dates and its usage)"
            return HTTPFailure(
                .clientCertificateRequired, text, phase: .tls, retryable: false,
                underlying: error.map(underlying), details: details)
        }
    }

    /// The failure if a server demands another handshake of TLS 1.2, as for a path that requires a client certificate.
    static func renegotiation(_ error: any Error, with host: String) -> HTTPFailure? {
        let underlying = underlying(error)
        guard underlying.domain == .tls, underlying.message == "NO_RENEGOTIATION" else { return nil }
        let text =
            "\(host) demands a second TLS handshake for this request, probably to get a client certificate, which is not "
            + "supported (let the server ask for the certificate in the first handshake)"
        return HTTPFailure(
            .clientCertificateRequired, text, phase: .tls, retryable: false, underlying: underlying)
    }

    private static let certificateAlerts: Set<String> = [
        "certificate_required", "bad_certificate", "unsupported_certificate", "certificate_revoked",
        "certificate_expired", "certificate_unknown", "unknown_ca", "access_denied", "handshake_failure",
        "no_certificate", "decrypt_error",
    ]

    /// "unknown_ca" from "TLSV1_ALERT_UNKNOWN_CA", "109" from "reason(1109)"; nil if the server sent no alert.
    private static func alert(in reason: String) -> String? {
        if reason.hasPrefix(nameless), let number = Int(reason.dropFirst(nameless.count).dropLast()) {
            return (1000...1255).contains(number) ? String(number - 1000) : nil  // safe: at least 1000
        }
        guard let mark = reason.range(of: "_ALERT_") else { return nil }
        return reason[mark.upperBound...].lowercased()
    }

    /// The failure of an exchange on an open connection.
    static func exchange(_ error: any Error, with host: String, phase: HTTPFailure.Phase) -> HTTPFailure {
        if let failure = error as? HTTPFailure { return failure }
        let underlying = underlying(error)
        switch error {
        case ResponseFault.tooLong:
            let text = "the response of \(host) has more than \(limits)"
            return HTTPFailure(.limitExceeded, text, phase: phase, underlying: underlying)
        case ResponseFault.chunkLineTooLong:
            let most = ResponseReader.mostChunkLineBytes >> 10
            let text = "the response of \(host) has a chunk whose size and extensions are longer than \(most) KiB"
            return HTTPFailure(.limitExceeded, text, phase: phase, underlying: underlying)
        case is ResponseFault:
            let text = "the response of \(host) is not proper HTTP/1.1: \(underlying.message)"
            return HTTPFailure(.malformedResponse, text, phase: phase, underlying: underlying)
        default:
            let text = "the connection to \(host) was lost: \(underlying.message)"
            return HTTPFailure(.connectionLost, text, phase: phase, underlying: underlying)
        }
    }

    /// The beginning of a message about a server that has ended a connection, for whatever reason.
    static func ended(_ host: String, _ error: (any Error)?) -> String {
        switch error {
        case let error as NIOSSLError where error.isUncleanShutdown: "\(host) closed the connection"
        case is NIOSSLError, is BoringSSLError: "the TLS connection to \(host) failed"
        case let error as IOError where error.errnoCode != ECONNRESET && error.errnoCode != EPIPE:
            "the connection to \(host) was lost"
        case is LostAddress: "the connection to \(host) was lost"
        default: "\(host) closed the connection"
        }
    }

    private static let limits =
        "\(ResponseReader.mostFields) fields, \(ResponseReader.mostBytes >> 10) KiB of them, or too long a one"

    static func underlying(_ error: any Error) -> HTTPFailure.Underlying {
        switch error {
        case let error as IOError:
            // safe: CInt is narrower
            return .init(.posix, Int(error.errnoCode), String(cString: strerror(error.errnoCode)))
        case is LostAddress: return .init(.posix, Int(ENETDOWN), "this machine has lost its address")
        case let fault as HTTP2Fault:
            return .init(.http2, Int(fault.code.rawValue), fault.described)  // safe: 32 bits
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            return .init(.tls, 0, reason(of: error))
        case ResponseFault.malformed(let words): return .init(.http, 0, words)
        case is ResponseFault: return .init(.http, 0, words(of: error))
        case let error as ChannelError where error == .ioOnClosedChannel || error == .alreadyClosed || error == .eof:
            return .init(.posix, Int(ECONNRESET), "it is closed")  // safe: CInt is narrower
        default:
            return .init(.posix, 0, words(of: error))
        }
    }

    /// "WRONG_VERSION_NUMBER" from a stack of errors with file names and lines.
    private static func reason(of error: any Error) -> String {
        let text = String(describing: error)
        guard let mark = text.range(of: "OPENSSL_internal:") else { return words(of: error) }
        let rest = text[mark.upperBound...]
        let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        guard rest.hasPrefix(nameless) else { return String(word) }
        let number = rest.dropFirst(nameless.count).prefix { $0.isNumber }
        return "\(nameless)\(number))"
    }

    /// How BoringSSL begins the text of a reason without a name; alerts of the peer are 1000 and their number.
    private static let nameless = "reason("

    /// "invalidChunkSize" → "invalid chunk size".
    private static func words(of error: any Error) -> String {
        let name = String(describing: error).prefix(200)
        guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return String(name) }
        return name.reduce(into: "") { text, letter in
            if letter.isUppercase, text.last?.isUppercase == false { text.append(" ") }
            text.append(contentsOf: text.last == " " ? letter.lowercased() : String(letter))
        }
    }
}

/// The end of a connection whose address this machine does not have any more.
struct LostAddress: Error {}

extension String {
    /// The first occurrence of another text.
    fileprivate func range(of other: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(other) { return start..<index(start, offsetBy: other.count) }
            start = index(after: start)
        }
        return nil
    }
}
