// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Sends a request with a body, and returns its response.
struct UploadSend: Method {
    static let name = "upload.send"

    static func call(_ params: consuming UploadParameters, _ call: Call<ClientScope>) async throws -> ResponseReply {
        try await DataSend.call((consume params).request, call)
    }
}
