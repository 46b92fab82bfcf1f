// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The streams of a request, and its response if the call waited.
struct StreamOpened: ObjectShape {
    var request: Handle<RequestRecord>
    var stream: Handle<ReadStream>
    var also: [Handle<ReadStream>]
    var response: ResponseReply?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("request", request)
        writer.member("stream", stream)
        if !also.isEmpty { writer.member("also", also) }
        writer.member("response", response)
    }
}
