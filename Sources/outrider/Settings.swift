// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderMethods
import OutriderRPC
import OutriderServer
import OutriderTransport

/// The settings of `schema/settings.json`: flags win over the environment, the environment over defaults.
struct Settings: Sendable {
    enum Framing: String, CaseIterable { case auto, line, header }

    var socket: String?
    var stdio = false
    var framing = Framing.auto
    var pad = true
    var idleExit: Double?
    var logLevel: LogSetting.Level?
    var logFile: String?
    var logFormat: LogSetting.Format?
    var allowUid: [UInt32] = []
    var caFile: String?
    var tlsKeyLog: String?
    var store = StoreSettings()
    var deviceLogin = true
    var proxy: String?
    var caches: String?
    var routers: String?
    var jars: String?
    var publicSuffixes: String?
    /// Nil for the most that the limit of descriptors allows.
    var maxClients: Int?
    /// A cassette for all requests, optionally with a colon and its mode.
    var replay: String?
    var maxMessageBytes = 16_777_216
    var maxInline = 1_048_576
    /// Nil for the usual memory of the machine.
    var memory: Int?
    var connectionsPerHost = 64
    /// A number, or `auto`; nil for one.
    var loops: String?
    var maxAttempts = 100
    var idleConnection = 60.0
    var timeoutResolve = 5.0
    var timeoutConnect = 10.0
    var timeoutTls = 10.0
    var timeoutFirstByte = 60.0
    var timeoutIdle = 60.0
    var timeoutTotal = 300.0
    /// The descriptor on which to report that the service listens, for the program that starts the service.
    var readyFile: Int32?
    /// With `stdio`: a listening socket of the program that starts the service, for its further connections.
    var starterSocket: Int32?
    /// Faults of the cassette name no flag.
    var isStaged = false

    init() {}

    /// The settings of a start with the usual flags of programs; nil for other words, which need the parser.
    ///
    /// Editors wait for every start, and the parser takes a quarter of its time.
    init?(plain words: ArraySlice<String>) {
        var words = words
        while let word = words.popFirst() {
            switch word {
            case "--stdio" where !stdio: stdio = true
            case "--socket" where socket == nil:
                guard let path = words.popFirst(), !path.hasPrefix("-") else { return nil }
                socket = path
            case "--ready-file" where readyFile == nil:
                guard let number = words.popFirst().flatMap({ Int32($0) }) else { return nil }
                readyFile = number
            case "--starter-socket" where starterSocket == nil:
                guard let number = words.popFirst().flatMap({ Int32($0) }) else { return nil }
                starterSocket = number
            default: return nil
            }
        }
        do { try complete() } catch { return nil }
    }

    /// Reads settings without a flag from the environment. Throws ValidationError for invalid values.
    mutating func complete() throws {
        if stdio, socket != nil { throw ValidationError("--stdio has no socket: leave out --socket") }
        if socket?.isEmpty == true {
            throw ValidationError("--socket names no path: give one, or leave out --socket for this user's place")
        }
        if starterSocket != nil, !stdio { throw ValidationError("--starter-socket goes with --stdio") }
        try Self.check("--idle-exit", idleExit ?? 0, 0...1_000_000_000)
        try Self.check("--max-clients", Double(maxClients ?? 1), 1...100_000)
        try Self.check("--max-message-bytes", Double(maxMessageBytes), 4096...1_073_741_824)
        try Self.check("--max-inline", Double(maxInline), 0...8_388_608)
        if memory == nil { memory = try Self.number("OUTRIDER_MEMORY") }
        try Self.check("--memory, or OUTRIDER_MEMORY,", Double(memory ?? MemoryBudget.least), Self.memories)
        try Self.check("--connections-per-host", Double(connectionsPerHost), 1...1000)
        if loops == nil { loops = environmentVariable("OUTRIDER_LOOPS") }
        _ = try loopCount()
        try Self.check("--max-attempts", Double(maxAttempts), 1...1000)
        try Self.check("--idle-connection", idleConnection, 0...3600)
        let timeouts = [
            ("--timeout-resolve", timeoutResolve), ("--timeout-connect", timeoutConnect), ("--timeout-tls", timeoutTls),
            ("--timeout-first-byte", timeoutFirstByte), ("--timeout-idle", timeoutIdle),
            ("--timeout-total", timeoutTotal),
        ]
        for (flag, seconds) in timeouts { try Self.check(flag, seconds, 0.001...86400) }
        try takeEnvironment()
        anchorPaths()
        try store.complete()
        do throws(HTTPFailure) {
            _ = try proxies()
        } catch {
            throw ValidationError("--proxy, or OUTRIDER_PROXY: \(error.message)")
        }
    }

    private mutating func takeEnvironment() throws {
        if proxy == nil { proxy = environmentVariable("OUTRIDER_PROXY") }
        if caches == nil { caches = environmentVariable("OUTRIDER_CACHES") }
        if caFile == nil { caFile = environmentVariable("SSL_CERT_FILE") }
        if replay == nil { replay = environmentVariable("OUTRIDER_REPLAY") }
        if replay?.isEmpty == true { replay = nil }
        if tlsKeyLog == "environment" {
            tlsKeyLog = environmentVariable("SSLKEYLOGFILE")
            if tlsKeyLog == nil {
                throw ValidationError("--tls-key-log environment needs the variable SSLKEYLOGFILE, which names a file")
            }
        }
        if jars == nil { jars = environmentVariable("OUTRIDER_JARS") }
        if logFile == nil { logFile = environmentVariable("OUTRIDER_LOG_FILE") }
        if logLevel == nil { logLevel = try Self.choice("OUTRIDER_LOG") }
        if logFormat == nil { logFormat = try Self.choice("OUTRIDER_LOG_FORMAT") }
        if try Self.isOn("OUTRIDER_NO_DEVICE_LOGIN") { deviceLogin = false }
    }

    /// Makes relative paths absolute: a service that a program starts leaves the working directory of the program.
    private mutating func anchorPaths() {
        caFile = caFile.map(Self.anchored)
        caches = caches.map(Self.anchored)
        jars = jars.map(Self.anchored)
        logFile = logFile.map(Self.anchored)
        publicSuffixes = publicSuffixes.map(Self.anchored)
        routers = routers.map(Self.anchored)
        tlsKeyLog = tlsKeyLog.map(Self.anchored)
        replay = replay.map { $0 == Self.noCassette || $0.hasPrefix("{") ? $0 : Self.anchored($0) }
    }

    /// The absolute path; unchanged if absolute or empty.
    private static func anchored(_ path: String) -> String {
        path.isEmpty || path.hasPrefix("/") ? path : absolute(path)
    }

    private static let mostLoops = 64

    /// The number of event loops. Throws ValidationError.
    func loopCount() throws -> ServiceLoops.Count {
        switch loops {
        case nil, "": return .fixed(1)
        case "auto": return .auto
        case .some(let word):
            guard let count = Int(word), (1...Self.mostLoops).contains(count) else {
                throw ValidationError(
                    "--loops, or OUTRIDER_LOOPS, is \(word), and must be auto or a number from 1 to \(Self.mostLoops)")
            }
            return .fixed(count)
        }
    }

    /// From 16 MiB to 1 TiB.
    private static let memories = Double(MemoryBudget.least)...1_099_511_627_776

    private static func number(_ variable: String) throws -> Int? {
        guard let word = environmentVariable(variable), !word.isEmpty else { return nil }
        if let number = Int(word) { return number }
        throw ValidationError("\(variable) is \(word), and must be a number of bytes")
    }

    private static func isOn(_ variable: String) throws -> Bool {
        switch environmentVariable(variable) {
        case nil, "0", "false": return false
        case "1", "true": return true
        case .some(let word): throw ValidationError("\(variable) is \(word), and must be 1, true, 0 or false")
        }
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
    func server(clients: Int, isBusy: @escaping @Sendable () -> Bool) -> ServerSettings {
        var server = ServerSettings(version: ProgramVersion.current)
        server.limits.frame.message = maxMessageBytes
        server.limits.connections = clients
        server.framing = OutriderRPC.Framing(rawValue: framing.rawValue)
        server.pad = pad
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

    /// - Parameter loops: the number of event loops.
    func engine(loops: Int) -> EngineSettings {
        var engine = EngineSettings()
        // already validated
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
        engine.keyLog = tlsKeyLog.map(Self.absolute)
        engine.caches = caches.map(Self.absolute)
        engine.connectionsPerHost = connectionsPerHost
        engine.loops = loops
        engine.maxInline = maxInline
        engine.memory = memory ?? MemoryBudget.usual
        engine.mostAttempts = maxAttempts
        engine.deviceLogin = deviceLogin
        engine.jars = jars.map(Self.absolute)
        engine.publicSuffixes = publicSuffixes
        return engine
    }

    /// In place of a cassette: only stubs have responses.
    private static let noCassette = "-"

    /// The cassette of the service; nil for none. Its mode is `none` unless the text ends in another mode.
    func cassette() throws(JSONComplaint) -> Tape.Settings? {
        guard let replay, replay != Self.noCassette else { return nil }
        if replay.hasPrefix("{") {
            var settings = try ReplayParameter.settings(parsing: replay)
            settings.program = ProgramVersion.current
            return settings
        }
        let mode = replay.lastIndex(of: ":").flatMap { Tape.Mode(rawValue: String(replay[replay.index(after: $0)...])) }
        let path = mode == nil ? replay : String(replay.prefix(upTo: replay.lastIndex(of: ":") ?? replay.endIndex))
        var settings = Tape.Settings(path: Self.absolute(path))
        settings.mode = mode ?? .none
        settings.program = ProgramVersion.current
        return settings
    }

    /// The path from the root, without a slash at its end.
    static func absolute(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    var transport: HTTPTransport.Settings {
        var transport = HTTPTransport.Settings()
        transport.pool.idleSeconds = idleConnection
        return transport
    }
}

/// The value of an environment variable; an empty value counts as absent.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
}
