// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// About what a request keeps in memory until it is forgotten, in bytes.
package enum RequestMemory {
    /// A field beside its text: two strings, in the request as given and in the request as sent.
    private static let fieldBytes = 128
    /// A URL is there as given, parsed, and for display; its query also as the parameters that it was made of.
    private static let urlWeight = 8
    /// Options that were read from a message take more than their text.
    private static let optionWeight = 2

    /// Fields, URL, a body that is not counted by itself, and options as far as their size is known.
    ///
    /// - Parameter message: the size of a message that holds the request alone, whose rest are the options; 0 if unknown.
    package static func bytes(of spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, message: Int) -> Int {
        let (count, text) = spec.fieldSizes
        var (url, body) = (0, 0)
        if case .success(let attempt) = request {
            url = attempt.url.targetBytes
            body = attempt.heldBytes
            if body > 0, attempt.bodyHolder != nil { body = 0 }
        } else {
            url = spec.url.utf8.count
        }
        let options = max(0, message &- text &- url &- body)
        return count &* fieldBytes &+ text &+ url &* urlWeight &+ body &+ options &* optionWeight
    }
}
