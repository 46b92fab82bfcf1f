// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension StagedAttempt {
    static var tooMany: HTTPFailure {
        HTTPFailure(.limitExceeded, "too many requests wait for stubs and cassettes: send fewer at a time")
    }

    static var cancelled: HTTPFailure { HTTPFailure(.explicitlyCancelled, "the request was cancelled") }
}
