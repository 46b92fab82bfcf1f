// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Counters of the service's work, in Prometheus format.
struct ServerMetrics: Method {
    static let name = "server.metrics"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let control = call.scope.control
        var text = PrometheusText()
        text.add(
            "outrider_info", .gauge, "Always 1; the labels say what runs.",
            [
                PrometheusText.Sample(
                    1, [(name: "version", value: control.version), (name: "instance_id", value: control.instanceID)])
            ])
        text.add(
            "outrider_uptime_seconds", .gauge, "Since the start.",
            [PrometheusText.Sample((ContinuousClock.now - control.startedAt).seconds)])
        text.add("process_resident_memory_bytes", .gauge, "Memory of the process.", ResidentMemory.bytes())
        text.addClients(control.counters)
        text.addWatchers(call.scope.service, control.counters)
        text.addRequests(call.scope.service.engine)
        text.addPool(await call.scope.service.pool())
        text.addCallbacks(call.scope.service.callbacks.now)
        return ReplyMembers { writer in
            writer.member("contentType", PrometheusText.contentType)
            writer.member("text", text.text)
        }
    }
}

extension PrometheusText {
    fileprivate mutating func addClients(_ counters: ServerCounters) {
        add("outrider_client_connections", .gauge, "Connections of clients, now.", counters.connections)
        add("outrider_calls_running", .gauge, "Calls in progress.", counters.callsRunning)
        add("outrider_calls_total", .counter, "Calls since the start.", counters.callsTotal)
        add(
            "outrider_client_bytes_total", .counter, "Bytes exchanged with clients.",
            [
                Sample(counters.bytesReceived, [("direction", "received")]),
                Sample(counters.bytesSent, [("direction", "sent")]),
            ])
    }

    fileprivate mutating func addWatchers(_ service: Service, _ counters: ServerCounters) {
        add("outrider_events_sent_total", .counter, "Events sent to clients.", counters.eventsSent)
        add(
            "outrider_events_dropped_total", .counter, "Events that a client was too slow for, by where they waited.",
            [
                Sample(counters.eventsDropped, [("queue", "connection")]),
                Sample(service.monitors.dropped, [("queue", "subscription")]),
            ])
        add("outrider_subscriptions", .gauge, "Subscriptions to topics, now.", service.monitors.subscriptionCount)
        add(
            "outrider_log_lines_dropped_total", .counter, "Lines that the log had no room for.",
            service.monitors.linesDropped)
    }

    fileprivate mutating func addRequests(_ engine: Engine) {
        let counts = engine.counts
        let statistics = engine.statistics
        add("outrider_requests_total", .counter, "Requests begun.", counts.total)
        let states = RequestPhase.allCases.filter { !$0.isFinal }
        add(
            "outrider_requests", .gauge, "Requests that are not over, by state.",
            states.map { Sample(counts.states[$0] ?? 0, [("state", $0.rawValue)]) })
        let failures = statistics.failures.map { ($0.key.failureCode, $0.value) }.sorted { $0.0.code < $1.0.code }
        add(
            "outrider_requests_failed_total", .counter, "Requests that failed, by the code of the failure.",
            failures.map { code, count in
                let labels: [(name: StaticString, value: String)] = [
                    ("code", String(code.code)), ("kind", code.kind.description),
                    ("reason", code.reason?.description ?? ""),
                ]
                return Sample(count, labels)
            })
        add(
            "outrider_responses_total", .counter, "Requests that ended with a response, by its status.",
            statistics.responses.enumerated().filter { $0.element > 0 }.map {
                Sample($0.element, [("class", "\($0.offset)xx")])
            })
        add("outrider_attempts_total", .counter, "Attempts, of requests that are over.", statistics.attempts)
        add("outrider_redirects_total", .counter, "Redirects followed by last attempts.", statistics.redirects)
        add(
            "outrider_sends_total", .counter, "Sendings by their connection: opened for them, reused, or none at all.",
            EngineStatistics.Carrier.allCases.map { Sample(statistics[$0], [("connection", "\($0)")]) })
        add(
            "outrider_server_bytes_total", .counter, "Bytes exchanged with servers, without TLS.",
            [
                Sample(counts.bytesReceived, [("direction", "received")]),
                Sample(counts.bytesSent, [("direction", "sent")]),
            ])
        add("outrider_body_bytes_total", .counter, "Bytes of bodies received, decoded.", statistics.bodyBytes)
        add("outrider_request_duration_seconds", "Requests from start to end.", [("", statistics.total)])
        add(
            "outrider_phase_duration_seconds", "Sendings, by phase; only those that had it.", by: "phase",
            EngineStatistics.Part.allCases.map { ("\($0)", statistics[$0]) })
    }

    fileprivate mutating func addPool(_ pool: PoolCounts) {
        add(
            "outrider_pool_connections", .gauge, "Connections to servers, now.",
            [
                Sample(pool.connections - pool.idle, [("state", "busy")]), Sample(pool.idle, [("state", "idle")]),
            ])
        add("outrider_pool_waiting", .gauge, "Requests that wait for a connection.", pool.waiting)
        add("outrider_pool_http2_connections", .gauge, "HTTP/2 connections to servers, now.", pool.http2)
        add("outrider_pool_http2_streams", .gauge, "Requests that HTTP/2 connections carry, now.", pool.streams)
        add(
            "outrider_pool_http2_draining", .gauge, "HTTP/2 connections that take no new requests, now.", pool.draining)
    }

    fileprivate mutating func addCallbacks(_ counts: CallbackTally.Counts) {
        add("outrider_callbacks_asked_total", .counter, "Callbacks to code of clients.", counts.sent)
        add("outrider_callbacks_answered_total", .counter, "Callbacks with a reply.", counts.replied)
        add(
            "outrider_callbacks_failed_total", .counter, "Callbacks without a reply, by the error.",
            counts.failed.sorted { $0.key < $1.key }.map { Sample($0.value, [("error", $0.key)]) })
        add("outrider_callback_duration_seconds", "Seconds from a callback to its reply.", [("", counts.seconds)])
    }
}
