// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// The limits in force, by the names of the contract.
struct Limits: ObjectShape {
    private static let order: [StaticString] = [
        "messageBytes", "headerBytes", "depth", "batchItems", "callsInFlight", "requests", "streams", "sessions",
        "interceptors", "routers", "subscriptions", "credentials", "callbacks", "connections", "chunkBytes",
        "inlineBytes", "inlineCeilingBytes", "outboxBytes", "outboxCloseBytes", "storedBytes", "memoryBytes",
        "attempts", "idCharacters", "methodCharacters",
    ]

    private var values: [(name: StaticString, value: Int)]

    /// The limits of the server, of the methods and of the engine.
    init(_ scope: ClientScope) {
        let settings = scope.service.engine.settings
        values =
            scope.control.limits + [
                ("requests", HandleKind.request.limit),
                ("streams", HandleKind.stream.limit),
                ("sessions", HandleKind.session.limit),
                ("interceptors", HandleKind.interceptor.limit),
                ("routers", HandleKind.router.limit),
                ("subscriptions", HandleKind.subscription.limit),
                ("credentials", HandleKind.credential.limit),
                ("chunkBytes", StreamMachine.chunkBytes),
                ("inlineBytes", settings.maxInline),
                ("inlineCeilingBytes", 8_388_608),
                ("storedBytes", settings.quota.memory),
                ("memoryBytes", settings.memory),
                ("attempts", settings.mostAttempts),
            ]
    }

    func encodeMembers(to writer: inout JSONWriter) {
        for name in Self.order {
            for limit in values where limit.name.description == name.description {
                writer.member(name, limit.value)
            }
        }
    }
}
