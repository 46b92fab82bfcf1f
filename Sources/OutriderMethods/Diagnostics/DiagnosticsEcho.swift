// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns its parameters as they came.
struct DiagnosticsEcho: Method {
    static let name = "diagnostics.echo"

    static func call(_ params: JSONObject, _ call: Call<ClientScope>) async throws -> JSONObject { params }
}
