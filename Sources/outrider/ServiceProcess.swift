// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderEngine
import OutriderFiles
import OutriderHTTP
import OutriderJSON
import OutriderMethods
import OutriderRPC
import OutriderServer
import OutriderTransport

/// The service itself: builds its parts from the settings, from the transport upwards, and waits for its end.
struct ServiceProcess {
    let settings: Settings

    func run() async throws {
        ServiceMemory.raiseStacks()
        // before the process has any secret
        CredentialHelper.hide()
        // the settings have it; a browser that the service starts would write its own secrets there
        unsetenv("SSLKEYLOGFILE")
        if settings.stdio { try StandardFiles.check() }
        // Find listening sockets from systemd first, before other descriptors can take their numbers.
        let listening: [Listening]
        do throws(StartFailure) {
            listening = try places()
        } catch {
            throw CommandFailure(code: error.exitStatus, error.description)
        }
        if settings.readyFile != nil { Detachment.detach() }
        let loopCount = try settings.loopCount()
        let descriptors = DescriptorLimit.raise()
        let loopNumber = ServiceLoops.number(loopCount, most: settings.connectionsPerHost)
        try DescriptorLimit.check(descriptors, loops: loopNumber)
        do throws(StartFailure) {
            // the loops, and those of libdispatch, which waits without end for a thread that it cannot make
            try ThreadRoom.check(loopNumber + 4)
        } catch {
            throw CommandFailure(code: error.exitStatus, error.description)
        }
        let loops = ServiceLoops(loopCount, most: settings.connectionsPerHost)
        // Ends by itself, while the rest of the service is made.
        let descriptorsOfLibraries = Task { await LibraryDescriptors.open() }
        let group = loops.group
        let own = settings.engine(loops: loops.count)
        CacheBudget.process.limit(besidePayloadsOf: own.memory)
        ServiceMemory.returnLargeBlocks()
        var wires = settings.transport
        let clients = min(settings.maxClients ?? DescriptorLimit.clients(of: descriptors), max(1, descriptors / 2))
        wires.mostConnections = DescriptorLimit.connections(of: descriptors, clients: clients)
        wires.keyLog = try keyLog(own.keyLog)
        let transport = HTTPTransport(group: group, settings: wires)
        let tape = try cassette()
        let stage = settings.replay.map { _ in ReplayStage(tape, isClosed: true) }
        let engine = Engine(
            transport: transport, group: group, settings: own,
            fields: DefaultFields.ofThisUser, stage: stage)
        tape?.hide(engine.credentials)
        tape?.countAnyway(in: engine.makeQuota())
        let vault = settings.store.vault(trustRoots: own.caFile, proxy: settings.proxy)
        engine.credentials.use(vault)
        engine.jars.use(vault)
        // deletes the files of killed services in the background
        Task.detached { engine.sweep() }
        let path = settings.readyFile == nil ? nil : settings.socket.map { Daemon.log(beside: $0) }
        let log = ServerLog(settings.log, replacing: path)
        if let path = own.keyLog {
            log.write(.warning, "the secrets of TLS connections are written to \(path)")
        }
        let service = Service(
            engine: engine, log: log, flush: { transport.flush() },
            retire: { transport.retire($0, for: $1, besides: engine.settings.security) }
        ) {
            let counts = await transport.counts()
            var pool = PoolCounts(connections: counts.busy + counts.idle, idle: counts.idle, waiting: counts.waiting)
            (pool.http2, pool.streams, pool.draining) = (counts.http2, counts.streams, counts.draining)
            return pool
        }
        vault.prompt(service.passphraseSource)
        if let path = settings.routers {
            do throws(RouterFileFault) {
                try RouterFiles.load(path, into: service)
            } catch {
                throw CommandFailure(.usage, "--routers: \(error.description)")
            }
        }
        let server = Server(
            table: Methods.table, settings: settings.server(clients: clients) { engine.counts.running > 0 },
            loops: loops, log: log
        ) { peer, control in
            ClientScope(service, control, connection: peer.info.connection, user: peer.info.uid)
        }
        await descriptorsOfLibraries.value
        let status = try await serve(server, listening)
        let unsaved = await engine.credentials.save()
        if !unsaved.isEmpty {
            StandardError.line(
                "outrider: the tokens of \(unsaved.joined(separator: ", ")) are not on disk yet; any use of them tries again, "
                    + "until the machine stops")
        }
        await service.settle()
        await service.closeDetached()
        tape?.stopNow()
        engine.close()
        vault.close()
        // The work is over; do not wait for destructors of linked libraries.
        _exit(status)
    }

    /// The cassette for all requests; nil for none.
    private func cassette() throws(CommandFailure) -> Tape? {
        let place = settings.isStaged ? "" : "--replay, or OUTRIDER_REPLAY: "
        let wishes: Tape.Settings?
        do throws(JSONComplaint) {
            wishes = try settings.cassette()
        } catch {
            throw CommandFailure(.usage, place + error.message)
        }
        guard let wishes else { return nil }
        do throws(HTTPFailure) {
            return try Tape.openNow(wishes)
        } catch {
            throw CommandFailure(.usage, place + error.message)
        }
    }

    private func serve(_ server: Server<ClientScope>, _ listening: [Listening]) async throws -> Int32 {
        do {
            return try await server.run(listening) {
                if let file = settings.readyFile { Detachment.sayReady(file) }
            }
        } catch let error as StartFailure {
            throw CommandFailure(code: error.exitStatus, error.description)
        }
    }

    /// Opens the file for appending, so that an unusable path is known at the start.
    private func keyLog(_ path: String?) throws -> KeyLog? {
        guard let path else { return nil }
        do throws(FileFault) {
            return try KeyLog(path)
        } catch {
            throw CommandFailure(.usage, "--tls-key-log: \(path) cannot be written: \(error.description)")
        }
    }

    private func places() throws(StartFailure) -> [Listening] {
        if let socket = settings.starterSocket { return [.starter(socket: try Activation.starter(socket))] }
        if settings.stdio { return [.stdio] }
        let passed = try Activation.descriptors()
        return passed.isEmpty ? [.socket(SocketPath.choose(explicit: settings.socket))] : [.activated(passed)]
    }
}

extension DefaultFields {
    /// The default fields of every request: the user agent, and the user's languages.
    static var ofThisUser: HTTPFields {
        let languages = languages(
            language: environmentVariable("LANGUAGE"), lcAll: environmentVariable("LC_ALL"),
            lcMessages: environmentVariable("LC_MESSAGES"), lang: environmentVariable("LANG"))
        return make(version: ProgramVersion.current, languages: languages)
    }
}
