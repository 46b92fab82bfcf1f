// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends a subscription: no event of the subscription follows the reply.
struct EventsUnsubscribe: Method {
    static let name = "events.unsubscribe"

    static func call(_ params: HandleParams<Subscription>, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let name = Handle<ReachabilitySubscription>(named: params.handle.name)
        if let watch = try? call.scope.handles.find(name, "subscription") {
            call.scope.handles.remove(name)
            watch.close()
            return reply(told: watch.told, dropped: 0)
        }
        let subscription = try call.scope.handles.find(params.handle, "subscription")
        call.scope.handles.remove(params.handle)
        await subscription.end()
        let counts = subscription.counts
        return reply(told: counts.told, dropped: counts.dropped)
    }

    private static func reply(told: Int, dropped: Int) -> ReplyMembers {
        ReplyMembers { writer in
            writer.member("told", told)
            writer.member("dropped", dropped)
        }
    }
}
