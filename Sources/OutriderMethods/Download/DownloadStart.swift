// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Starts a download, and returns its handle at once.
struct DownloadStart: Method {
    static let name = "download.start"

    static func call(_ params: DownloadParameters, _ call: Call<ClientScope>) async throws -> DataStart.Result {
        try await DataStart.call(params.whole, call)
    }
}
