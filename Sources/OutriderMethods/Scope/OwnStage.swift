// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import Synchronization

/// The stage of a session, or of the requests of a connection that belong to no session.
final class OwnStage: Sendable {
    private let stage = Mutex<ReplayStage?>(nil)

    /// Nil if nothing stands before the network.
    var current: ReplayStage? { stage.withLock { $0 } }

    /// The stage, made when first asked for.
    ///
    /// - Parameter base: gets the requests that the stage has nothing for.
    func made(over base: ReplayStage?) -> ReplayStage {
        stage.withLock { stage in
            if let stage { return stage }
            let made = ReplayStage(over: base)
            stage = made
            return made
        }
    }

    /// The owner is gone: what was recorded is written.
    func close() {
        guard let tape = current?.tape else { return }
        Task.detached { await tape.stop() }
    }
}
