// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Counts what the service is doing, over all connections.
struct ServerStats: Method {
    static let name = "server.stats"

    struct Result: JSONEncodable {
        var server: ServerCounters
        var engine: EngineCounts
        var pool: PoolCounts
        /// Bytes.
        var resident: Int

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("connections", server.connections)
                writer.member("calls") { writer in
                    writer.member("running", server.callsRunning)
                    writer.member("total", server.callsTotal)
                }
                encodeEngine(to: &writer)
                writer.member("events") { writer in
                    writer.member("sent", server.eventsSent)
                    writer.member("dropped", server.eventsDropped)
                }
                writer.member("memory") { $0.member("resident", resident) }
            }
        }

        private func encodeEngine(to writer: inout JSONWriter) {
            writer.member("requests") { writer in
                writer.member("running", engine.running)
                writer.member("total", engine.total)
                writer.member("failed", engine.failed)
            }
            writer.member("pool") { writer in
                writer.member("connections", pool.connections)
                writer.member("idle", pool.idle)
                writer.member("waiting", pool.waiting)
            }
            writer.member("bytes") { writer in
                writer.member("received", engine.bytesReceived)
                writer.member("sent", engine.bytesSent)
            }
        }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let service = call.scope.service
        return Result(
            server: call.scope.control.counters, engine: service.engine.counts, pool: await service.pool(),
            resident: ResidentMemory.bytes())
    }
}
