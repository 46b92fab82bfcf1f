// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns its parameters as they came.
struct DiagnosticsEcho: Computation {
    static let name = "diagnostics.echo"

    typealias Params = JSONObject
    typealias Result = JSONObject

    static func compute(_ params: JSONObject) -> JSONObject { params }
}
