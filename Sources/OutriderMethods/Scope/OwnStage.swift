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
    func made() -> ReplayStage {
        stage.withLock { stage in
            if let stage { return stage }
            let made = ReplayStage()
            stage = made
            return made
        }
    }
}
