// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// A TCP stream in a shell: sends standard input, and writes received bytes to standard output.
struct ConnectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects standard input and output with a host, through any proxy, with TLS if asked for.",
        discussion: """
              outrider connect mail.example 25
              outrider connect --tls imap.example:993
              printf 'PING\\r\\n' | outrider connect localhost 6379
              ssh -o ProxyCommand='outrider connect -x socks5h://proxy.example %h %p' host.example
              outrider connect --unix /run/service.sock

            Each direction ends by itself: the end of standard input ends sending, and standard output is closed when the \
            host has sent all. A service on a socket is needed, and started if none runs.

            Exit status: 0 the connection ended in order; 1 to 6 as `outrider call`; 12 network, 13 trust.
            """)

    @Argument(help: "Where to: a host name or an address; or both in one word, HOST:PORT.")
    var host: String?

    @Argument(help: "The port, 1 to 65535.")
    var port: String?

    @Option(name: .long, help: "A Unix socket in place of host and port: its path, or @name.", completion: .file())
    var unix: String?

    @Flag(name: .long, help: "Begin TLS before the first byte; the certificate is checked.")
    var tls = false

    @Option(name: .customLong("server-name"), help: "The name that the certificate must be valid for; else the host.")
    var serverName: String?

    @Option(name: .long, help: "Protocols to offer in TLS (ALPN), with commas.")
    var alpn: String?

    @Option(name: .long, help: "Seconds for each phase of connecting.")
    var timeout: Double?

    @Flag(exclusivity: .chooseLast) var family: TrustOptions.Family?

    @OptionGroup var proxy: ProxyOptions

    @Option(
        name: .long, help: "The service's socket; else $OUTRIDER_SOCKET, else the user's socket.",
        completion: .file())
    var socket: String?

    @Option(name: .long, help: "The user of the service, by number; else $OUTRIDER_PEER_UID, else you.")
    var peerUid: UInt32?

    @Flag(name: .long, help: "Do not start a service if none runs.")
    var noSpawn = false

    func validate() throws {
        if unix != nil, host != nil { throw ValidationError("--unix takes the place of HOST and PORT") }
        if unix?.isEmpty == true { throw ValidationError("--unix needs the path of a socket, or @name") }
        // also refuses what is no number: a timeout that cannot be sent would be none
        if let timeout, !(timeout >= 0.001 && timeout <= 86400) {
            throw ValidationError("--timeout must be from 0.001 to 86400 seconds")
        }
        if unix == nil { _ = try place() }
        if unix != nil, let family {
            throw ValidationError("--\(family.rawValue) is for HOST and PORT: a Unix socket has no address")
        }
        if !tls, serverName != nil || alpn != nil { throw ValidationError("--server-name and --alpn go with --tls") }
    }

    /// The host, and the port: the second word, or what stands behind the last colon of the first. An address of IPv6
    /// needs brackets before a colon.
    private func place() throws -> (host: String, port: Int) {
        let word = host ?? ""
        var (name, digits) = (word, port ?? "")
        if port == nil, let colon = word.lastIndex(of: ":") {
            let before = word[..<colon]
            let isWhole = before.hasPrefix("[") ? before.hasSuffix("]") : !before.contains(":")
            if isWhole { (name, digits) = (String(before), String(word[word.index(after: colon)...])) }
        }
        if name.isEmpty || digits.isEmpty {
            throw ValidationError("give HOST and PORT, such as mail.example 25 or [::1]:25, or --unix PATH")
        }
        guard let number = Int(digits), (1...65535).contains(number) else {
            throw ValidationError("PORT is \(digits), and must be a number from 1 to 65535")
        }
        return (name, number)
    }

    func run() throws {
        let path = try ServicePath(flag: socket, peer: peerUid)
        var client = ServiceClient(try Daemon(socket: path).connect(spawns: !noSpawn))
        let opened = try client.object("tcp.open", try params(), by: .never)
        if let error = opened["error"]?.object { throw CommandFailure(response: error) }
        guard let stream = opened["stream"], let request = opened["request"] else {
            throw CommandFailure(.brokeProtocol, "the result of tcp.open names no stream")
        }
        guard let wire = try path.connect() else {
            throw CommandFailure(.ended, "the service ended while the connection was open")
        }
        var carrier = ServiceClient(wire)
        _ = try carrier.object(
            "stream.attach", ["stream": stream, "direction": .string("both")], by: Deadline(after: 30))
        try carrier.carry()
        let ended = try client.object("request.wait", ["request": request, "timeout": .integer(1)], by: .never)
        // the end of the reader is no failure
        if let error = ended["error"]?.object, error["code"]?.integer != 1900 { throw CommandFailure(response: error) }
    }

    private func params() throws -> JSONObject {
        var params: JSONObject = [:]
        if let unix {
            params["path"] = .string(unix.hasPrefix("@") ? unix : try CommandWords.absolute(unix))
        } else {
            let place = try place()
            params["host"] = .string(place.host)
            params["port"] = .integer(Int64(place.port))
        }
        if tls {
            var security: JSONObject = [:]
            if let serverName { security["serverName"] = .string(serverName) }
            if let alpn { security["alpn"] = .array(alpn.split(separator: ",").map { .string(String($0)) }) }
            params["tls"] = security.isEmpty ? .bool(true) : .object(security)
        }
        if let timeout { params["timeout"] = .real(timeout) }
        if let family { params["addresses"] = .string(family.rawValue) }
        proxy.add(to: &params)
        return params
    }
}
