// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc

/// Which service a command talks to.
struct ServiceOptions: ParsableArguments {
    @Option(
        name: .long, help: "The service's socket; else $OUTRIDER_SOCKET, else the user's socket.",
        completion: .file())
    var socket: String?

    @Option(name: .long, help: "The user of the service, by number; else $OUTRIDER_PEER_UID, else you.")
    var peerUid: UInt32?

    @Flag(name: .long, help: "A service of our own, for this call only.")
    var stdio = false

    @Flag(name: .long, help: "Start the service of this user if none runs.")
    var spawn = false

    func validate() throws {
        if stdio, spawn || socket != nil {
            throw ValidationError("--stdio starts a service of its own: leave out --socket and --spawn")
        }
    }

    /// - Parameters:
    ///   - orPrivate: take a service of our own when none runs and none was named.
    ///   - isDetached: Ctrl-C is for this command alone, and does not end a service of our own.
    func connect(orPrivate: Bool = false, isDetached: Bool = false) throws(CommandFailure) -> Service {
        if stdio { return try Service.privately(isDetached: isDetached) }
        let path = try ServicePath(flag: socket, peer: peerUid)
        if spawn {
            let daemon = Daemon(socket: path)
            let client = ServiceClient(try daemon.connect()) { () throws(CommandFailure) in try daemon.connect() }
            return Service(client, door: .service(path))
        }
        if let wire = try path.connect() { return Service(ServiceClient(wire), door: .service(path)) }
        if orPrivate, !path.isNamed { return try Service.privately(isDetached: isDetached) }
        throw CommandFailure(
            .noConnection,
            "no service answers at \(path.path): start it with `outrider serve`, or let this command do so with --spawn"
        )
    }

    /// A client, and its service if that is a child process.
    struct Service: ~Copyable {
        var client: ServiceClient
        /// Where further connections to the service are made.
        let door: ServiceDoor?
        private let child: Child?

        init(_ client: consuming ServiceClient, door: ServiceDoor?, child: Child? = nil) {
            self.client = client
            self.door = door
            self.child = child
        }

        static func privately(isDetached: Bool = false) throws(CommandFailure) -> Service {
            let toChild = try PipeEnds()
            let fromChild = try PipeEnds()
            let door = ServiceDoor.starter()
            var words = ["serve", "--stdio"]
            var descriptors: [Child.Descriptor] = [
                .init(ours: toChild.reading, theirs: 0), .init(ours: fromChild.writing, theirs: 1),
                .init(ours: 2, theirs: 2),
            ]
            if let door {
                words += ["--starter-socket", "3"]
                descriptors.append(.init(ours: door.listening, theirs: 3))
            }
            let child = try Child(words, descriptors, isDetached: isDetached)
            close(toChild.reading)
            close(fromChild.writing)
            if let door { close(door.listening) }
            return Service(
                ServiceClient(ServiceWire(input: fromChild.reading, output: toChild.writing)), door: door?.door,
                child: child)
        }
    }
}
