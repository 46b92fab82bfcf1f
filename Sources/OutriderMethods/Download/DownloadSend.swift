// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Downloads a file, and returns after the file is complete.
struct DownloadSend: Method {
    static let name = "download.send"

    static func call(_ params: DownloadParameters, _ call: Call<ClientScope>) async throws -> ResponseReply {
        try await DataSend.call(params.whole, call)
    }
}
