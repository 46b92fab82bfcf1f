// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import Synchronization

/// The stage of a session, or of a connection's requests without a session.
final class OwnStage: Sendable {
    private let stage = Mutex<ReplayStage?>(nil)

    /// Nil if requests go to the network directly.
    var current: ReplayStage? { stage.withLock { $0 } }

    /// The stage, made on first use.
    ///
    /// - Parameter base: gets the requests that the stage cannot serve.
    func made(over base: ReplayStage?) -> ReplayStage {
        stage.withLock { stage in
            if let stage { return stage }
            let made = ReplayStage(over: base)
            stage = made
            return made
        }
    }

    /// The owner is gone: writes the recording.
    func close() {
        guard let tape = current?.tape else { return }
        Task.detached { await tape.stop() }
    }
}
