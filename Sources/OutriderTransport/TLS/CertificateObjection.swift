// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import Glibc
import OutriderHTTP
import SwiftASN1
import X509

/// What speaks against the certificates of a server, in words: the first thing that a person would want to know.
struct CertificateObjection {
    let failure: HTTPFailure

    /// - Parameters:
    ///   - chain: as the server sent it, its own certificate first.
    ///   - isOnlyTheName: whether all else is right.
    ///   - reasons: of the library, if nothing better is found.
    init(_ chain: [Certificate], host: String, isOnlyTheName: Bool, reasons: [String]) {
        let words = Self.age(of: chain, host: host)
        if let words {
            failure = HTTPFailure(.trustEvaluationFailed, words, phase: .tls)
        } else if isOnlyTheName {
            let names = Self.names(in: chain[0])
            let list = names.isEmpty ? "no name at all" : names.prefix(5).joined(separator: ", ")
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            let text = "the certificate of \(host) is for another host: it names \(list)\(more)"
            failure = HTTPFailure(.hostValidationFailed, text, phase: .tls)
        } else {
            let text = "the certificate of \(host) is not trusted: \(Self.origin(of: chain, reasons))"
            failure = HTTPFailure(.trustEvaluationFailed, text, phase: .tls)
        }
    }

    private static func age(of chain: [Certificate], host: String) -> String? {
        let now = Date.now
        for (index, certificate) in chain.enumerated() {
            let whose =
                index == 0
                ? "the certificate of \(host)" : "the certificate of the issuer \(certificate.subject) for \(host)"
            if certificate.notValidAfter < now { return "\(whose) expired on \(day(certificate.notValidAfter))" }
            if certificate.notValidBefore > now {
                return "\(whose) is not valid before \(day(certificate.notValidBefore))"
            }
        }
        return nil
    }

    private static func origin(of chain: [Certificate], _ reasons: [String]) -> String {
        let remedy = "if you trust it, name a file that holds its issuer's certificate (caFile, or SSL_CERT_FILE)"
        let leaf = chain[0]
        if leaf.issuer == leaf.subject { return "it is self-signed; \(remedy)" }
        // the library has reasons only against chains that reach a root
        if let reason = reasons.first { return String(reason.prefix(200)) }
        let last = chain[chain.count - 1]
        return "its issuer \(last.issuer) is not known; \(remedy)"
    }

    private static func names(in certificate: Certificate) -> [String] {
        guard let names = try? certificate.extensions.subjectAlternativeNames else { return [] }
        return names.compactMap { name in
            switch name {
            case .dnsName(let name): name
            case .ipAddress(let address): text(Array(address.bytes))
            default: nil
            }
        }
    }

    /// Four bytes or sixteen, as an address is written.
    private static func text(_ address: [UInt8]) -> String? {
        guard address.count == 4 || address.count == 16 else { return nil }
        let room = Int(INET6_ADDRSTRLEN)  // safe: a small constant
        let text = [CChar](unsafeUninitializedCapacity: room) { buffer, count in
            let size = socklen_t(truncatingIfNeeded: room)
            let family = address.count == 4 ? AF_INET : AF_INET6
            let done = inet_ntop(family, address, buffer.baseAddress, size)
            count = done.map { strlen($0) } ?? 0
        }
        return String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// "2026-03-01", in UTC.
    private static func day(_ date: Date) -> String {
        var seconds = time_t(clamping: Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let (month, day) = (parts.tm_mon + 1, parts.tm_mday)
        return "\(parts.tm_year + 1900)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
    }
}
