// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

extension ClientScope {
    /// The stage of requests of a session; nil for what the service has.
    func stage(of session: SessionRecord?) -> ReplayStage? { (session?.stage ?? stages).current }

    /// Where the stage of a session is kept. Throws `unknownHandle`.
    func ownStage(_ session: SessionReference?) throws(RPCError) -> OwnStage {
        try session?.resolved(self)?.stage ?? stages
    }
}
