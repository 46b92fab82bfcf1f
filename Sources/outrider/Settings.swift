// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine
import OutriderHTTP
import OutriderRPC
import OutriderServer
import OutriderTransport

/// The settings of `schema/settings.json`: flags win over the environment, the environment over defaults.
struct Settings: ParsableArguments {
    enum Framing: String, CaseIterable, ExpressibleByArgument { case auto, line, header }

    @Option(name: .long, help: "Where to listen; else $OUTRIDER_SOCKET, else this user's place.", completion: .file())
    var socket: String?

    @Flag(name: .long, help: "Serve the one client on standard input and output in place of a socket.")
    var stdio = false

    @Option(name: .long, help: "How clients frame messages; `auto` goes by the first byte.")
    var framing = Framing.auto

    @Flag(name: .long, help: "Do not write the spaces that keep half-closed clients waiting.")
    var noPad = false

    @Option(name: .long, help: "End after so many seconds without clients and requests; else never.")
    var idleExit: Double?

    @Option(name: .long, help: "The least important level logged to standard error; else $OUTRIDER_LOG, else warning.")
    var logLevel: LogSetting.Level?

    @Option(
        name: .long, help: "Where the log goes in place of standard error; else $OUTRIDER_LOG_FILE.",
        completion: .file())
    var logFile: String?

    @Option(name: .long, help: "How a line of the log looks; else $OUTRIDER_LOG_FORMAT, else text.")
    var logFormat: LogSetting.Format?

    @Option(name: .long, help: "Another user who may connect, by number; may be repeated.")
    var allowUid: [UInt32] = []

    @Option(
        name: .long, help: "Trust roots in PEM, in place of the system's; else $SSL_CERT_FILE.", completion: .file())
    var caFile: String?

    @OptionGroup var store: StoreOptions

    @Option(
        name: .long,
        help: "The proxy of requests that name none: a URL, `environment`, or `none`; else $OUTRIDER_PROXY, else none.")
    var proxy: String?

    @Option(
        name: .long, help: "Routers for all clients: a file in JSON or YAML, or a directory of them.",
        completion: .file())
    var routers: String?

    @Option(name: .long, help: "The longest message taken from a client, in bytes.")
    var maxMessageBytes = 16_777_216

    @Option(name: .long, help: "Default of a request's maxInline, in bytes.")
    var maxInline = 1_048_576

    @Option(name: .long, help: "The most connections to one origin.")
    var connectionsPerHost = 6

    @Option(name: .long, help: "How often one request is sent at most, whatever its retriers say.")
    var maxAttempts = 100

    @Option(name: .long, help: "Seconds for which an unused connection to a server is kept.")
    var idleConnection = 60.0

    @Option(name: .long, help: "Default of timeout.resolve: seconds to look up a name.")
    var timeoutResolve = 5.0

    @Option(name: .long, help: "Default of timeout.connect: seconds to open a connection.")
    var timeoutConnect = 10.0

    @Option(name: .long, help: "Default of timeout.tls: seconds for the TLS handshake.")
    var timeoutTls = 10.0

    @Option(name: .long, help: "Default of timeout.firstByte: seconds to the first byte of an answer.")
    var timeoutFirstByte = 60.0

    @Option(name: .long, help: "Default of timeout.idle: seconds without a byte in either direction.")
    var timeoutIdle = 60.0

    @Option(name: .long, help: "Default of timeout.total: seconds for a whole request.")
    var timeoutTotal = 300.0

    /// Where to say that the service listens; for those who start it.
    @Option(name: .long, help: .hidden)
    var readyFile: Int32?

    mutating func validate() throws {
        if stdio, socket != nil { throw ValidationError("--stdio has no socket: leave out --socket") }
        try Self.check("--idle-exit", idleExit ?? 0, 0...1_000_000_000)
        try Self.check("--max-message-bytes", Double(maxMessageBytes), 4096...1_073_741_824)
        try Self.check("--max-inline", Double(maxInline), 0...8_388_608)
        try Self.check("--connections-per-host", Double(connectionsPerHost), 1...256)
        try Self.check("--max-attempts", Double(maxAttempts), 1...1000)
        try Self.check("--idle-connection", idleConnection, 0...3600)
        let timeouts = [
            ("--timeout-resolve", timeoutResolve), ("--timeout-connect", timeoutConnect), ("--timeout-tls", timeoutTls),
            ("--timeout-first-byte", timeoutFirstByte), ("--timeout-idle", timeoutIdle),
            ("--timeout-total", timeoutTotal),
        ]
        for (flag, seconds) in timeouts { try Self.check(flag, seconds, 0.001...86400) }
        try takeEnvironment()
        do throws(HTTPFailure) {
            _ = try proxies()
        } catch {
            throw ValidationError("--proxy, or OUTRIDER_PROXY: \(error.message)")
        }
    }

    /// What was not said with a flag.
    private mutating func takeEnvironment() throws {
        if proxy == nil { proxy = environmentVariable("OUTRIDER_PROXY") }
        if caFile == nil { caFile = environmentVariable("SSL_CERT_FILE") }
        if logFile == nil { logFile = environmentVariable("OUTRIDER_LOG_FILE") }
        if logLevel == nil { logLevel = try Self.choice("OUTRIDER_LOG") }
        if logFormat == nil { logFormat = try Self.choice("OUTRIDER_LOG_FORMAT") }
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(_ variable: String) throws -> Choice? {
        guard let word = environmentVariable(variable) else { return nil }
        if let choice = Choice(rawValue: word) { return choice }
        let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("\(variable) is \(word), and must be one of \(words)")
    }

    private static func check(_ flag: String, _ number: Double, _ range: ClosedRange<Double>) throws {
        if range.contains(number) { return }
        throw ValidationError("\(flag) must be from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
    }

    private static func text(_ number: Double) -> String { Int(exactly: number)?.description ?? number.description }
}

extension Settings {
    func server(isBusy: @escaping @Sendable () -> Bool) -> ServerSettings {
        var server = ServerSettings(version: Outrider.version)
        server.limits.frame.message = maxMessageBytes
        server.framing = OutriderRPC.Framing(rawValue: framing.rawValue)
        server.pad = !noPad
        server.allowedUsers = Set(allowUid)
        server.idleExit = idleExit.map { .seconds($0) }
        server.isBusy = isBusy
        return server
    }

    var log: LogSetting {
        LogSetting(
            level: logLevel ?? .warning, target: logFile == nil ? .stderr : .file, format: logFormat ?? .text,
            path: logFile)
    }

    /// Nil for none.
    private func proxies() throws(HTTPFailure) -> ProxyRules? {
        try ProxyRules.named(proxy) { environmentVariable($0) }
    }

    private static var environment: ProxyEnvironment { ProxyEnvironment { environmentVariable($0) } }

    var engine: EngineSettings {
        var engine = EngineSettings()
        // it has been looked at
        engine.proxies = try? proxies()
        do throws(HTTPFailure) {
            engine.proxyEnvironment = .success(try Self.environment.rules())
        } catch {
            engine.proxyEnvironment = .failure(error)
        }
        engine.timeouts.resolve = timeoutResolve
        engine.timeouts.connect = timeoutConnect
        engine.timeouts.tls = timeoutTls
        engine.timeouts.firstByte = timeoutFirstByte
        engine.timeouts.idle = timeoutIdle
        engine.timeouts.total = timeoutTotal
        engine.caFile = caFile
        engine.connectionsPerHost = connectionsPerHost
        engine.maxInline = maxInline
        engine.mostAttempts = maxAttempts
        return engine
    }

    var transport: HTTPTransport.Settings {
        var transport = HTTPTransport.Settings()
        transport.pool.idleSeconds = idleConnection
        return transport
    }
}

extension LogSetting.Level: ExpressibleByArgument {}
extension LogSetting.Format: ExpressibleByArgument {}

/// The value of an environment variable; an empty one counts as absent.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
}
