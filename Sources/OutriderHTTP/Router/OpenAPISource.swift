// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The document of an import: references within it, what reading it may cost, and notes on its parts.
struct OpenAPISource {
    var document: DocumentIndex
    /// The remaining budget: references let a short document describe a large router.
    var budget: WorkBudget
    private(set) var notes: [ImportNote] = []
    private(set) var moreNotes = 0

    private static let maximumNotes = 1000
    private static let longestNote = 400

    init(_ document: JSONValue, budget: WorkBudget) {
        self.document = DocumentIndex(document)
        self.budget = budget
    }

    /// The members of the document itself.
    var root: JSONObject { document.document.object ?? [:] }

    mutating func note(_ pointer: JSONPointer, _ message: String) {
        if notes.count < Self.maximumNotes {
            let isLong = message.utf8.count > Self.longestNote
            let shown = isLong ? message.prefix(Self.longestNote) + "…" : message[...]
            notes.append(ImportNote(pointer: pointer, message: String(shown)))
        } else {
            moreNotes += 1
        }
    }

    /// The target of a reference, or of a chain of references, and its pointer; nil if unresolvable.
    mutating func followed(
        _ value: JSONValue, _ pointer: JSONPointer
    ) throws(JSONComplaint) -> (JSONValue, JSONPointer)? {
        var value = value
        var pointer = pointer
        for _ in 0..<16 {
            guard let reference = value.object?["$ref"]?.string else { return (value, pointer) }
            try budget.spend(bytes: reference.utf8.count)
            guard reference.hasPrefix("#"), let (target, place) = found(String(reference.dropFirst())) else {
                return nil
            }
            value = target
            pointer = place
        }
        return nil
    }

    /// The value at a pointer as written, or as a fragment of a URI, whose braces are percent-encoded.
    private mutating func found(_ written: String) -> (JSONValue, JSONPointer)? {
        for text in [written, URIText.decoded(written)] {
            if let place = JSONPointer(written: text), let value = document.value(at: place) { return (value, place) }
        }
        return nil
    }
}
