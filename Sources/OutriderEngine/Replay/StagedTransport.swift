// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The network behind a stage: what the stage has no response for is sent.
struct StagedTransport: Transport {
    let stage: ReplayStage
    let inner: any Transport

    var loop: any EventLoop { inner.loop }
    var sharedLoop: any EventLoop { inner.sharedLoop }

    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        StagedAttempt(attempt, stage, inner, observer: observer)
    }
}
