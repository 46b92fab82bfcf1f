// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser

/// A command that makes requests, and whose options are those of `RequestCall`.
///
/// As a group, the options would be groups within a group, and debug builds of the library go through each of those four
/// times more: a second for each command.
protocol RequestCommand: ParsableCommand, CustomReflectable {
    var call: RequestCall { get set }
    /// The method; nil for that of the options.
    static var verb: String? { get }
}

extension RequestCommand {
    static var verb: String? { nil }

    init(from decoder: any Decoder) throws {
        self.init()
        call = try RequestCall(from: decoder)
    }

    var customMirror: Mirror { Mirror(reflecting: call) }

    func validate() throws { try call.validate() }

    func run() throws { try call.run(Self.verb) }
}

/// Requests from a shell: the body, byte for byte, on standard output.
struct GetCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Makes HTTP requests, and writes the body to standard output.",
        discussion: """
              outrider get https://example.org/
              outrider get -i -H 'Accept: application/json' https://example.org/api
              outrider get -O 'https://example.org/page[1-9].html'
              outrider get -d 'name=wolf' https://example.org/form
              outrider get --oauth work https://api.example.org/me
              outrider get -X PUT -H 'Content-Type: application/json' -d @data.json https://example.org/api/1
              outrider get -F 'title=Wolves' -F 'photo=@wolf.png' https://example.org/form
              outrider get -s -o page.html -w '%{http_code}\\n' https://example.org/
              outrider get :8080/search q==wolves Accept:text/html
              outrider get --curl -d 'name=wolf' https://example.org/form

            The options have the names and meanings of curl's. With -o, and standard error on a terminal, a line shows how \
            far a long body is.

            The service of this user makes the request if it runs, so that connections stay warm; else a private one does.

            Exit status: 0 a response arrived, whatever its status code (see --fail); 1 to 6 as `outrider call`; \
            10 request, 11 credential, 12 network, 13 trust, 14 status 400 or above with --fail, 16 file, 17 cancelled. \
            With several URLs it is that of the last failure.
            """)

    var call = RequestCall()
}

/// `outrider post URL name=value`, and the same for other methods.
struct PostCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "post",
        abstract: "Sends a POST request, with JSON from name=value.",
        discussion: """
              outrider post https://example.org/api name=wolf legs:=4 tags:='["wild"]'
              outrider post https://example.org/api X-Trace:1 page==2 name=wolf
              outrider post https://example.org/photos title=Wolves photo@wolf.png

            Texts and JSON values make a JSON object; with a file the body is a multipart form. All options of \
            `outrider get` hold here, too.
            """)

    static let verb: String? = "POST"
    var call = RequestCall()
}

struct PutCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Sends a PUT request; see `outrider post`.")

    static let verb: String? = "PUT"
    var call = RequestCall()
}

struct PatchCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "patch", abstract: "Sends a PATCH request; see `outrider post`.")

    static let verb: String? = "PATCH"
    var call = RequestCall()
}

struct DeleteCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Sends a DELETE request; see `outrider post`.")

    static let verb: String? = "DELETE"
    var call = RequestCall()
}

struct HeadCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "head", abstract: "Sends a HEAD request, and writes the status and the fields.")

    var call = RequestCall()

    func run() throws {
        var call = call
        call.request.head = true
        try call.run(nil)
    }
}
