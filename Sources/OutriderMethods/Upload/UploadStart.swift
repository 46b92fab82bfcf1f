// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Starts a request with a body, and returns its handle at once.
struct UploadStart: Method {
    static let name = "upload.start"

    static func call(_ params: UploadParameters, _ call: Call<ClientScope>) async throws -> DataStart.Result {
        try await DataStart.call(params.request, call)
    }
}
