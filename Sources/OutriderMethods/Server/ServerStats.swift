// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Counts the service's work, over all connections.
struct ServerStats: Method {
    static let name = "server.stats"

    struct Result: ObjectShape {
        var server: ServerCounters
        var engine: EngineCounts
        var statistics: EngineStatistics
        var callbacks: CallbackTally.Counts
        var watchers: any ServiceMonitors
        var pool: PoolCounts
        /// Bytes.
        var resident: Int
        var memory: MemoryBudget.Counts

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("connections", server.connections)
            writer.name("loops")
            writer.array { writer in
                for clients in server.clientsByLoop { writer.object { $0.member("clients", clients) } }
            }
            writer.member("calls") { writer in
                writer.member("running", server.callsRunning)
                writer.member("total", server.callsTotal)
            }
            encodeEngine(to: &writer)
            writer.member("events") { writer in
                writer.member("sent", server.eventsSent)
                writer.member("dropped", server.eventsDropped &+ watchers.dropped)
                writer.member("subscriptions", watchers.subscriptionCount)
            }
            writer.member("callbacks") { writer in
                writer.member("asked", callbacks.sent)
                writer.member("answered", callbacks.replied)
                writer.member("failed", callbacks.failed.values.reduce(0, &+))
            }
            writer.member("log") { $0.member("dropped", watchers.linesDropped) }
            writer.member("memory") { writer in
                writer.member("resident", resident)
                encodeBudget(to: &writer)
            }
        }

        private func encodeBudget(to writer: inout JSONWriter) {
            writer.member("limit", memory.limit)
            writer.member("held", memory.held)
            writer.member("highest", memory.highest)
            writer.member("shares", memory.shares)
            writer.member("waited", memory.waited)
            writer.member("refused", memory.refused)
            writer.member("spilt") { writer in
                writer.member("payloads", memory.spilt)
                writer.member("bytes", memory.spiltBytes)
            }
        }

        private func encodeEngine(to writer: inout JSONWriter) {
            writer.member("requests") { writer in
                writer.member("running", engine.running)
                writer.member("total", engine.total)
                writer.member("failed", engine.failed)
                writer.member("attempts", statistics.attempts)
                writer.member("states") { writer in
                    for phase in RequestPhase.allCases where !phase.isFinal {
                        writer.name(dynamic: phase.rawValue)
                        writer.value(engine.states[phase] ?? 0)
                    }
                }
            }
            writer.member("pool") { writer in
                writer.member("connections", pool.connections)
                writer.member("idle", pool.idle)
                writer.member("waiting", pool.waiting)
                writer.member("http2", pool.http2)
                writer.member("streams", pool.streams)
                writer.member("draining", pool.draining)
                writer.member("opened", statistics[.opened])
                writer.member("reused", statistics[.reused])
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
            server: call.scope.control.counters, engine: service.engine.counts,
            statistics: service.engine.statistics, callbacks: service.callbacks.now, watchers: service.monitors,
            pool: await service.pool(),
            resident: ResidentMemory.bytes(), memory: service.engine.memory.counts)
    }
}
