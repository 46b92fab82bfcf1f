// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderRPC

/// The flags of `outrider serve`.
struct ServeOptions: ParsableArguments {
    private static let defaults = Settings()

    @Option(name: .long, help: "Where to listen; else $OUTRIDER_SOCKET, else this user's place.", completion: .file())
    var socket: String?

    @Flag(name: .long, help: "Serve a single client on standard input and output in place of a socket.")
    var stdio = false

    @Option(
        name: .long, help: "The configuration file; else $OUTRIDER_CONFIG, else ~/.config/outrider/config.yaml.",
        completion: .file())
    var config: String?

    @Flag(name: .long, help: "Read no configuration file.")
    var noConfig = false

    @Option(name: .long, help: "How clients frame messages; `auto` goes by the first byte.")
    var framing = defaults.framing

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

    @Option(
        name: .long,
        help: """
            Another user who may connect and send requests, by number; may be repeated. Files, tokens, the log and \
            stopping stay with the user of the service.
            """)
    var allowUid: [UInt32] = []

    @Option(
        name: .long, help: "Trust roots in PEM, in place of the system's; else $SSL_CERT_FILE.", completion: .file())
    var caFile: String?

    @Option(
        name: .long,
        help: """
            Write the secrets of TLS connections to this file, to decrypt recordings of the traffic; `environment` for \
            the file that $SSLKEYLOGFILE names.
            """, completion: .file())
    var tlsKeyLog: String?

    @OptionGroup var store: StoreOptions

    @Flag(name: .long, help: "Refuse logins on another device; else $OUTRIDER_NO_DEVICE_LOGIN.")
    var noDeviceLogin = false

    @Option(
        name: .long,
        help: "The proxy of requests that name none: a URL, `environment`, or `none`; else $OUTRIDER_PROXY, else none.")
    var proxy: String?

    @Option(
        name: .long, help: "The directory of named caches; else $OUTRIDER_CACHES, else this user's place.",
        completion: .directory)
    var caches: String?

    @Option(
        name: .long, help: "Routers for all clients: a file in JSON or YAML, or a directory of them.",
        completion: .file())
    var routers: String?

    @Option(
        name: .long, help: "The directory of named cookie jars; else $OUTRIDER_JARS, else this user's place.",
        completion: .directory)
    var jars: String?

    @Option(
        name: .long,
        help: """
            A cassette that all requests are played from; with :once, :newEpisodes or :all at the end they are \
            recorded; else $OUTRIDER_REPLAY.
            """,
        completion: .file())
    var replay: String?

    @Option(
        name: .long, help: "A Public Suffix List, used if newer than the built-in list.",
        completion: .file())
    var publicSuffixes: String?

    @Option(name: .long, help: "The most clients at once; else a quarter of the descriptors, from 64 to 10,240.")
    var maxClients: Int?

    @Option(name: .long, help: "The longest message taken from a client, in bytes.")
    var maxMessageBytes = defaults.maxMessageBytes

    @Option(name: .long, help: "Default of a request's maxInline, in bytes.")
    var maxInline = defaults.maxInline

    @Option(
        name: .long,
        help: "Memory for large payloads of all clients, in bytes; else $OUTRIDER_MEMORY, else 192 MiB or less.")
    var memory: Int?

    @Option(name: .long, help: "The most connections to an origin.")
    var connectionsPerHost = defaults.connectionsPerHost

    @Option(
        name: .long,
        help: "Event loops for clients: a number, or auto for up to one by processor; else $OUTRIDER_LOOPS, else 1.")
    var loops: String?

    @Option(name: .long, help: "The most attempts of a request, whatever its retriers say.")
    var maxAttempts = defaults.maxAttempts

    @Option(name: .long, help: "Seconds for which an unused connection to a server is kept.")
    var idleConnection = defaults.idleConnection

    @Option(name: .long, help: "Default of timeout.resolve: seconds to look up a name.")
    var timeoutResolve = defaults.timeoutResolve

    @Option(name: .long, help: "Default of timeout.connect: seconds to open a connection.")
    var timeoutConnect = defaults.timeoutConnect

    @Option(name: .long, help: "Default of timeout.tls: seconds for the TLS handshake.")
    var timeoutTls = defaults.timeoutTls

    @Option(name: .long, help: "Default of timeout.firstByte: seconds to the response head.")
    var timeoutFirstByte = defaults.timeoutFirstByte

    @Option(name: .long, help: "Default of timeout.idle: seconds without a byte in either direction.")
    var timeoutIdle = defaults.timeoutIdle

    @Option(name: .long, help: "Default of timeout.total: seconds for an attempt with its redirects.")
    var timeoutTotal = defaults.timeoutTotal

    /// The descriptor on which to report that the service listens, for the program that starts the service.
    @Option(name: .long, help: .hidden)
    var readyFile: Int32?

    /// With --stdio: a listening socket of the program that starts the service, for its further connections.
    @Option(name: .long, help: .hidden)
    var starterSocket: Int32?

    /// The service of `outrider record` or `outrider replay`, whose words have no --replay.
    @Flag(name: .long, help: .hidden)
    var staged = false

    func validate() throws { _ = try settings() }

    /// The settings from flags, with the environment for absent flags.
    func settings() throws -> Settings {
        var settings = Settings()
        settings.socket = socket
        settings.stdio = stdio
        settings.framing = framing
        settings.pad = !noPad
        settings.idleExit = idleExit
        settings.logLevel = logLevel
        settings.logFile = logFile
        settings.logFormat = logFormat
        settings.allowUid = allowUid
        settings.caFile = caFile
        settings.tlsKeyLog = tlsKeyLog
        settings.store = store.settings
        settings.deviceLogin = !noDeviceLogin
        settings.proxy = proxy
        settings.caches = caches
        settings.routers = routers
        settings.jars = jars
        settings.replay = replay
        settings.publicSuffixes = publicSuffixes
        settings.maxClients = maxClients
        settings.maxMessageBytes = maxMessageBytes
        settings.maxInline = maxInline
        settings.memory = memory
        settings.connectionsPerHost = connectionsPerHost
        settings.loops = loops
        settings.maxAttempts = maxAttempts
        settings.idleConnection = idleConnection
        settings.timeoutResolve = timeoutResolve
        settings.timeoutConnect = timeoutConnect
        settings.timeoutTls = timeoutTls
        settings.timeoutFirstByte = timeoutFirstByte
        settings.timeoutIdle = timeoutIdle
        settings.timeoutTotal = timeoutTotal
        settings.readyFile = readyFile
        settings.starterSocket = starterSocket
        settings.isStaged = staged
        try settings.complete()
        return settings
    }
}

extension Settings.Framing: ExpressibleByArgument {}
extension LogSetting.Level: ExpressibleByArgument {}
extension LogSetting.Format: ExpressibleByArgument {}
