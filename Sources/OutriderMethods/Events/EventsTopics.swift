// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Lists the topics, with their meaning and details.
struct EventsTopics: Method {
    static let name = "events.topics"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> JSONText { topics }

    private static let topics = JSONText(
        written: Array(
            UnsafeBufferPointer(
                start: MonitorTopics.document.utf8Start, count: MonitorTopics.document.utf8CodeUnitCount)))
}
