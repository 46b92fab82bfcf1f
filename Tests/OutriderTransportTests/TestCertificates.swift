// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOSSL
import Testing

/// Certificates made by the openssl command for one test run, in a directory of their own.
enum TestCertificates {
    /// Where they are; made when first asked for.
    static let directory: String? = make()

    static func path(_ name: String) throws -> String { try #require(directory) + "/" + name }

    /// What a server needs to present one of them.
    static func context(_ name: String, most: TLSVersion? = nil, issuerToo: Bool = false) throws -> NIOSSLContext {
        var chain = try NIOSSLCertificate.fromPEMFile(path("\(name).pem"))
        if issuerToo { chain += try NIOSSLCertificate.fromPEMFile(path("ca.pem")) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: path("\(name).key"), format: .pem)))
        configuration.maximumTLSVersion = most
        configuration.minimumTLSVersion = .tlsv1
        return try NIOSSLContext(configuration: configuration)
    }

    private static func make() -> String? {
        var template = Array("/tmp/outrider-certificates-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return run("/bin/sh", ["-c", "cd \(directory) && \(script)"]) == 0 ? directory : nil
    }

    private static let script = #"""
        exec >log 2>&1; set -e
        printf '%s\n' '[ca]' 'default_ca=d' '[d]' 'database=index.txt' 'serial=serial' 'default_md=sha256' \
          'policy=p' 'unique_subject=no' '[p]' 'commonName=supplied' >ca.cnf
        : >index.txt; echo 01 >serial
        key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
        root() {
          key "$1"
          openssl req -x509 -new -key "$1.key" -subj "/CN=$2" -days 30 -addext basicConstraints=critical,CA:TRUE \
            -addext keyUsage=critical,keyCertSign,cRLSign -out "$1.pem"
        }
        leaf() {
          key "$1"
          openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
          printf '%s\n' basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature \
            "extendedKeyUsage=critical,${5:-serverAuth}" "subjectAltName=$2" >"$1.ext"
          openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" -extfile "$1.ext" \
            -startdate "$3" -enddate "$4" -notext -outdir .
        }
        names=DNS:localhost,IP:127.0.0.1
        root ca 'Test Root'; root other 'Another Root'
        leaf good $names 20200101000000Z 20400101000000Z
        leaf expired $names 20200101000000Z 20200301000000Z
        leaf early $names 20390201000000Z 20400101000000Z
        leaf elsewhere DNS:example.test,DNS:*.example.test,IP:10.0.0.1 20200101000000Z 20400101000000Z
        leaf client $names 20200101000000Z 20400101000000Z clientAuth
        key own
        openssl req -x509 -new -key own.key -subj /CN=localhost -days 30 -addext subjectAltName=$names -out own.pem
        """#
}

/// Runs a program to its end and returns its exit status.
func run(_ program: String, _ arguments: [String]) -> Int32 {
    var child = pid_t()
    var pointers: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    defer { pointers.forEach { free($0) } }
    guard posix_spawn(&child, program, nil, nil, &pointers, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    return status
}
