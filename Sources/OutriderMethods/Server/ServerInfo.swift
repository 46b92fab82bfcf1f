// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Describes the service, and the limits of this connection.
struct ServerInfo: Method {
    static let name = "server.info"

    struct Result: ObjectShape {
        var control: any ServerControl
        var limits: Limits
        var peer: PeerInfo
        var pid: Int
        /// Seconds.
        var uptime: Double
        var suffixes: SuffixLists.Facts
        var keyLog: String?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("name", control.name)
            writer.member("version", control.version)
            writer.member("protocol", 1)
            writer.member("pid", pid)
            writer.member("uptime", uptime)
            writer.member("instanceId", control.instanceID)
            writer.member("connection", peer.connection)
            writer.member("framing", peer.framing.rawValue)
            writer.member("transport", peer.transport.rawValue)
            if let pid = peer.pid, let uid = peer.uid {
                writer.member("peer") { writer in
                    writer.member("pid", pid)
                    writer.member("uid", uid)
                }
            }
            writer.member("features", Features())
            writer.member("limits", limits)
            encodeSuffixes(to: &writer)
            writer.member("tlsKeyLog", keyLog)
            writer.member("environment", StartVariables.current)
        }

        private func encodeSuffixes(to writer: inout JSONWriter) {
            writer.member("publicSuffixes") { writer in
                writer.member("source", suffixes.source)
                writer.member("date", suffixes.date)
                writer.member("warning", suffixes.problem ?? age)
            }
        }

        /// Nil for a list of the last year.
        private var age: String? {
            let yearAgo = TimeShape(WallTime(seconds: WallTime.now.seconds - 365 * 86_400)).description.prefix(10)
            guard let date = suffixes.date, date < yearAgo else { return nil }
            return "the Public Suffix List is more than a year old: name a newer one with --public-suffixes"
        }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let control = call.scope.control
        let uptime = control.startedAt.duration(to: .now)
        return Result(
            control: control, limits: Limits(call.scope), peer: call.peer.info, pid: Int(getpid()),
            uptime: (uptime / .milliseconds(1)).rounded() / 1000,
            suffixes: call.scope.service.engine.jars.suffixes.facts,
            keyLog: call.scope.service.engine.settings.keyLog)
    }
}
