// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// The writing direction of a stream that is read, and the state that both directions share.
protocol StreamPartner: AnyObject, Sendable {
    /// Takes the client's writes.
    var upload: UploadStream { get }

    /// Whether more may be written.
    var isWriting: Bool { get }

    /// The client knows of the end of reading. Returns whether the handle is still needed for writing.
    func keepsHandle() -> Bool

    /// Ends both directions.
    func close()

    /// Sends the input of a second connection, as fast as the network takes the bytes, until its end.
    func feed(from pipe: any RawPipe) async
}
