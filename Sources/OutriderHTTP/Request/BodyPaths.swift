// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension BodySpec {
    /// The body with `~/` put in; throws for a relative path of the body itself. Paths of a form are checked with its
    /// parts.
    package func resolved(home: String?) throws(HTTPFailure) -> BodySpec {
        var body = self
        switch content {
        case .file(let path):
            guard let absolute = FilePath.absolute(path, home: home) else {
                throw HTTPFailure(.createUploadableFailed, FilePath.fault(path), pointer: "/body/file")
            }
            body.content = .file(path: absolute)
        case .multipart(let form): body.content = .multipart(form.resolved(home: home))
        default: break
        }
        return body
    }
}

extension MultipartForm {
    /// The form with `~/` put in; other relative paths stay, for the complaint that names their part.
    package func resolved(home: String?) -> MultipartForm {
        var form = self
        for index in form.parts.indices {
            guard case .file(let path) = form.parts[index].content,
                let absolute = FilePath.absolute(path, home: home)
            else { continue }
            form.parts[index].content = .file(path: absolute)
        }
        return form
    }
}
