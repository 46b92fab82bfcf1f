// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// Prints the socket of this user's service; starts the service if needed.
struct GetSocketCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get-socket",
        abstract: "Prints the socket of the service, and starts the service if none runs.",
        discussion: """
            A line of JSON: {"socket","pid","version","protocol","instanceId"}.

              outrider get-socket | jq -r .pid
              socat - "UNIX-CONNECT:'$(outrider get-socket --path)'"
              outrider get-socket --no-spawn || echo 'not running'

            However many programs ask at once, a single service starts. Its messages go to a file beside its socket, \
            whose name ends in `.log`. With --no-spawn, exit status 3 says that none runs.
            """)

    @Option(name: .long, help: "The socket; else $OUTRIDER_SOCKET, else the user's socket.", completion: .file())
    var socket: String?

    @Option(name: .long, help: "The user of the service, by number; else $OUTRIDER_PEER_UID, else you.")
    var peerUid: UInt32?

    @Flag(name: .long, help: "Print the path of the socket alone.")
    var path = false

    @Flag(name: .long, help: "Do not start a service.")
    var noSpawn = false

    @Option(name: .long, help: "Seconds to wait for its reply.")
    var timeout = 30.0

    func validate() throws {
        if !(timeout > 0 && timeout <= 1_000_000) {
            throw ValidationError("--timeout must be a number of seconds above 0")
        }
    }

    func run() throws {
        let place = try ServicePath(flag: socket, peer: peerUid)
        let reply = try info(place)
        guard reply.error == nil, let info = try reply.parsed().object else {
            throw CommandFailure(.brokeProtocol, "the program at \(place.path) is no outrider")
        }
        if path { return try StandardOutput.line(place.path.utf8) }
        var line: JSONObject = ["socket": .string(place.path)]
        for name in ["pid", "version", "protocol", "instanceId"] { line[name] = info[name] }
        try StandardOutput.line(JSONWriter.bytes(of: line))
    }

    /// The reply to `server.info`.
    ///
    /// A killed service accepts connections until the kernel has ended its last thread, and resets them then. A lost
    /// connection is therefore tried again, for 0.2 s: the call changes nothing.
    private func info(_ path: ServicePath) throws(CommandFailure) -> ServiceClient.Reply {
        let deadline = Deadline(after: timeout)
        var tries = 20
        while true {
            var client = ServiceClient(try Daemon(socket: path).connect(spawns: !noSpawn))
            do throws(CommandFailure) {
                return try client.call("server.info", JSONText(written: Array("{}".utf8)), by: deadline)
            } catch {
                tries -= 1
                guard error.code == CommandFailure.Status.ended.rawValue, tries > 0 else { throw error }
                usleep(10_000)
            }
        }
    }
}
