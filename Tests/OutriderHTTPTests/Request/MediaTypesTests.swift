// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct MediaTypesTests {
    @Test(arguments: [
        ("a.png", "image/png"), ("A.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"),
        ("a.json", "application/json"),
        ("a.html", "text/html"), ("a.txt", "text/plain"), ("a.mp4", "video/mp4"), ("a.woff2", "font/woff2"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"), (".txt", "text/plain"),
        ("a.svg", "image/svg+xml"), ("a.pdf", "application/pdf"), ("a.zip", "application/zip"), ("a.csv", "text/csv"),
    ])
    func `a type follows from the ending of a name [Q6]`(name: String, type: String) {
        #expect(MediaTypes.type(ofFileNamed: name) == type)
    }

    @Test(arguments: ["a", "", ".", "a.", "a.neverheardof", "png", "a.日本", "a.png ", "a.b/c"])
    func `what is not known is bytes`(name: String) {
        #expect(MediaTypes.type(ofFileNamed: name) == "application/octet-stream")
    }

    @Test func `every type of the table is a media type`() {
        for ending in ["7z", "aac", "vcf", "xlsx", "wasm", "tsx", "heic", "eml", "glb"] {
            let type = MediaTypes.type(ofFileNamed: "f.\(ending)")
            #expect(type != MediaTypes.unknown && MediaType(parsing: type)?.essence == type, "\(ending): \(type)")
        }
    }
}
