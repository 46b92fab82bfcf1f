// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC

extension BodySpec {
    /// Finds the streams that the client named. Throws `unknownHandle`.
    mutating func findStreams(in handles: HandleTable) throws(RPCError) {
        switch content {
        case .stream(let name, _, let length):
            let stream = try handles.find(Handle<UploadStream>(named: name), "body/stream")
            content = .stream(name, UploadUse(stream, length: length), length: length)
        case .multipart(var form):
            try form.findStreams(in: handles)
            content = .multipart(form)
        default: break
        }
    }
}

extension MultipartForm {
    mutating func findStreams(in handles: HandleTable) throws(RPCError) {
        for index in parts.indices {
            guard case .stream(let name, _, let length) = parts[index].content else { continue }
            let parameter = String("\(place)/\(index)/stream".dropFirst())
            let stream = try handles.find(Handle<UploadStream>(named: name), parameter)
            parts[index].content = .stream(name, UploadUse(stream, length: length), length: length)
        }
    }
}
