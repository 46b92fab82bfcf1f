// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Keys that nothing but these tests knows, and what another library (Python's cryptography, on OpenSSL) signed with them.
enum TokenSamples {
    static let rsaKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCqp/Eid2p/1JMu
        aAHfK9LJE44NypglLQqwOCw+/V9auaZP40qBAFSqB0lxQuGz4PTYWpK49640WDtW
        BuSS4kYNuKlt7qeuthw4QZ4qrmDhXMNJIdILfsbi4IcQFmWhs3WrFwZwFqqlKV43
        sngwvLWa6lhcftKCVLeIsTbqiMCEgeUmU0pHGlMn0r1s93gDcFiVEk23ljfOWnvg
        s7CgUI8HVqR0TWVpT8Qll9ZT7lTB9gHarg8meK/jQLraIimAwqJ9k1ACTEESsQ32
        vNoIX/um7s/usLUZ0AhKxmPHjH9o8KLLcaAfDvpbyzZ5do1HLHBp9bsB2J02YXGf
        J3ao5SjJAgMBAAECggEAAKc8rTH5lIRw7Uss4aiyaX5ji3I4d6D24uKOKc4QvsFJ
        7ZGcTAbfLBjzyyUTRdvhOBBNsjtRfYYOcRd86cKHu972eBMjLXApRr5aj4WEHay8
        GyQv4IcjVgQ/xBwf1rkABPAFQGnXzKLOR2aNnvsj81Q9ExqRrfnKy5FJGWf9W6x9
        hD4NV1MyU+AcNWzb3Rsp1HOppUvxH/eolv4mCgKnVTl/Gs8le7tdK45448Tm4jKL
        lIcoFM5NniW2O1F3A/w1sztbBuGSOvydSzn0gPE+pTjoCswwT6mD2S8g+Zk6KUnU
        xXFLjsxfV2OMLSoKmo6hGcE9TXXjPWQjyYaccMqiAQKBgQDgc5T8fv44lyOAFSgW
        5qFaFNWBRCj9lTcU3r+OiUuPqsPF23uw64LG/UGiIRakk1HzwWYbVjantrIf/XN5
        ihNxTsx5jz+pSbbPO10S5bsFAzIVCE9ShGVyC5UL6Ls22EpfRMNFKWK3WPWrEJal
        j8ZUteFS1ppzg3UjUSInS87eAQKBgQDCpKRz6wVe/OnUEz6xonUBsyOSM04vN/TJ
        c75F5dee7YVlPJjF1ddLC9/jl/M2I75uMw92VtE5lnkLVWcLV8ccUtFJxXnrh1F1
        3rUhrOoCBonSSgTs4FcPeYIMw7KIdBXP8DpH/IEiN+HZxDxc9xC90I9PWNcmewzH
        DnmsUmzayQKBgE2x9NrKovm358QIjs4Om7/xAk8y5vWQ13ZT/P88K3nZ5NbyuQhv
        Hd///t4+kfX6QR4dzlicKWM47MQCGhzyXPSWEFXr7l+NcsidhgRqnaiIiKebLsoj
        pnIp7DgpIdVEXcpIpUelodRR6QiEP4GkGUVtiEgCnYhq8vt8tFPh/AQBAoGAKjQM
        vF2fIoNwJ92sYFO7Tw0Kj260aySU3QFNplY5tGoH3HWRIoRFVC5U80JFJ94EMly7
        44rbfsMTp9NyrlDwCUIjwv0gfGMw1H/fgle9vYaxZ3lJLBtQhThxbFcaZN/Wwulx
        mZ40WbkILXGRLQ8dACsyh5/ZtqxDjv2igCy3EZECgYEAgVjWhl1IDPWEzOk8b4At
        9QKsoMjknAaSRObO7CUgfI6RFTuLgj1cFamXOtF8A2Brg95iiOMUbxsz/sQr5wF8
        G5x7Z7U3Efl40KZclwew48ZY/H5R3OJcmTptWAFa9SzCeojB1JN6SoVby+ITFiRx
        pRa/6wxA/OjMiWfwY9UlIHs=
        -----END PRIVATE KEY-----
        """

    static let curveKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0IFB33Nca+T71cF1
        CMaN7BjAlZk4ssDGe3NOUAQG4qGhRANCAAQbLJ4Ag4sXDn3HIGSBpSHe/uWnrD2Y
        wako2cRU32DPNbon0v9wqqhCtwsmMUG5x9d2GZAjzHOYTr05EcAifkD5
        -----END PRIVATE KEY-----
        """

    static let keys = #"{"keys":["# + rsaPublic + "," + curvePublic + "]}"

    static let rsaPublic =
        #"{"kty":"RSA","kid":"r","use":"sig","e":"AQAB","n":""#
        + "qqfxIndqf9STLmgB3yvSyROODcqYJS0KsDgsPv1fWrmmT-NKgQBUqgdJcULhs-D02FqSuPeuNFg7VgbkkuJG"
        + "Dbipbe6nrrYcOEGeKq5g4VzDSSHSC37G4uCHEBZlobN1qxcGcBaqpSleN7J4MLy1mupYXH7SglS3iLE26ojA"
        + "hIHlJlNKRxpTJ9K9bPd4A3BYlRJNt5Y3zlp74LOwoFCPB1akdE1laU_EJZfWU-5UwfYB2q4PJniv40C62iIp"
        + "gMKifZNQAkxBErEN9rzaCF_7pu7P7rC1GdAISsZjx4x_aPCiy3GgHw76W8s2eXaNRyxwafW7AdidNmFxnyd2"
        + "qOUoyQ" + #""}"#

    static let curvePublic =
        #"{"kty":"EC","crv":"P-256","kid":"e","x":""#
        + "GyyeAIOLFw59xyBkgaUh3v7lp6w9mMGpKNnEVN9gzzU"
        + #"","y":""#
        + "uifS_3CqqEK3CyYxQbnH13YZkCPMc5hOvTkRwCJ-QPk" + #""}"#

    /// Of the client "cli" to https://as.example/token, at 1,800,000,000.
    static let assertion =
        "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InIifQ.eyJpc3MiOiJjbGkiLCJzdWIiOiJjbGkiL"
        + "CJhdWQiOiJodHRwczovL2FzLmV4YW1wbGUvdG9rZW4iLCJqdGkiOiJvbmUiLCJpYXQiOjE4MDAwMDAwMDAsI"
        + "mV4cCI6MTgwMDAwMDEyMH0.Hr55EbhOfaamZMsNdj-DH4G-s1rELCZ5D4ScDgDA-0LFpHChavUIJdCv5q7Qe"
        + "70u5thKu2akU2fYtXad5tqi9ZiOmDxj6ccELG9QZ8En2FqQ5DCoExjwey9eTVvXmYvJaF-H2E3_OeFdJKYpc"
        + "EwMD2UjCbaiQ-9G8RKqDf5EBnRhi1d4OYmW7BgdJDipC_rzOqwNYJAV4jTtktDHv9ZeHBLWWK-yzojNMebLg"
        + "0yeQFdn8T-ZnMpPo4uaRfALZNaBXI6B57RjJI_eXoe2_8xvwjhVEpKquX0tWz4EYSyT4AvM1YevC5tRm1efJ"
        + "7HVOTd5QwB3QXHg51ebYAEd3N07oA"

    /// ID tokens by RS256, PS256 and ES256: from https://as.example to "cli", about "alice", with the nonce "n-1", good
    /// for 300 seconds from 1,800,000,000 on.
    static let idTokens = [
        "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJzdWIiOiJhb"
            + "GljZSIsImF1ZCI6ImNsaSIsImV4cCI6MTgwMDAwMDMwMCwiaWF0IjoxODAwMDAwMDAwLCJub25jZSI6Im4tM"
            + "SJ9.oWZtpycmsYpmBB-GB4CDLevK7AE4DVJjjazdyPSDlDbJzT9yHdDFqIJJzAt9dmQhuodeG91R1E_qDdyn"
            + "Tt6fIEriX8emfrE5Kk0EOkPWIOdtwbndZdNh2xWvJGtD40G-NLic2ROHBHTTwcsfnMFtycfYunb5gqX4Ifhn"
            + "5tVEh942bUi__wI3mUgribB6VO6wuNvrYTbJaEaphWjx4KcQ2qI3Z1rF8Mh7uaLBeaVIqIfVxN_y72vdLlB2"
            + "c8Gb__n9FYHiT0lz2DzLow9OCTUJXUPi_uSXg5_Ll5jkfVqdyEzK1pAv0QdzZq-RX1rn_3Bd05d2CTOyNQcD"
            + "kqtlbyd_oQ",
        "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJzdWIiOiJhbGljZSIsImF1ZCI"
            + "6ImNsaSIsImV4cCI6MTgwMDAwMDMwMCwiaWF0IjoxODAwMDAwMDAwLCJub25jZSI6Im4tMSJ9.Lrfqvy3iPb"
            + "zuaYotKJ0mEUljRt5-Js_qS6Swb3rKQA0VEuo4r7BCucNCAQ0i6yB8vVCV1Nk72eXLCXe1j0SE7jFe7dtogd"
            + "0FzDoANoK_OUs3b395tTLGDnkQ8xpJMKYrzEnLkY6dDM7MfOwFb3Is14Zf2611e8vPpc9mpMv6rYL8GsE70Q"
            + "5ApjU84LdB6VjBeJCPb49VwBkf8Ri14smg-5-RejsHHH-HxX645DcfM3Nu3oG1cAA6Pz8RRco-24oOetK7MP"
            + "Bz-56wMS8-BtNJik3woWA7EIHYyWbhqVbFe2NZ0Mx_Tjg9HlimdWaUnJQ50_LKYtu8HaEWnTocaJKnPw",
        "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJzdWIiOiJhb"
            + "GljZSIsImF1ZCI6ImNsaSIsImV4cCI6MTgwMDAwMDMwMCwiaWF0IjoxODAwMDAwMDAwLCJub25jZSI6Im4tM"
            + "SJ9.EvIqQYw5vs2I0S7mQnRCCQ9lK_zjIPU18ea8gmSXB_-ZZcqWOA0BmylZQUw39xixKBoDR8MOpDZz91ST"
            + "78dLUg",
    ]
}

/// So that tables of claims and members stay readable.
extension JSONValue: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) { self = .string(text) }
}
