// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderRPC

/// The table of contents: every method of the protocol, by namespace.
package enum Methods {
    package static let table: MethodTable<ClientScope> = {
        var table = MethodTable<ClientScope>()
        table.secrets = .marked
        table.ownerRules = .marked
        table.add(Initialize.self)
        table.add(Shutdown.self)

        table.add(CookiesClear.self)
        table.add(CookiesDelete.self)
        table.add(CookiesExplain.self)
        table.add(CookiesExport.self)
        table.add(CookiesGet.self)
        table.add(CookiesHeader.self)
        table.add(CookiesImport.self)
        table.add(CookiesList.self)
        table.add(CookiesSet.self)

        table.add(begun: DataSend.self)
        table.add(DataStart.self)

        table.add(DiagnosticsBlob.self)
        table.add(DiagnosticsCallback.self)
        table.add(DiagnosticsEcho.self)
        table.add(DiagnosticsFail.self)
        table.add(DiagnosticsNotify.self)
        table.add(DiagnosticsSleep.self)
        table.add(DiagnosticsStream.self)

        table.add(DownloadResume.self)
        table.add(DownloadSend.self)
        table.add(DownloadStart.self)

        table.add(EncodeEscape.self)
        table.add(EncodeForm.self)
        table.add(EncodeJSON.self)
        table.add(EncodePropertyList.self)
        table.add(EncodeQuery.self)
        table.add(EncodeQueryComponents.self)

        table.add(EvaluateRetry.self)
        table.add(EvaluateSchema.self)
        table.add(EvaluateSerialization.self)
        table.add(EvaluateValidation.self)
        table.add(MultipartEncode.self)

        table.add(EventsAck.self)
        table.add(EventsNext.self)
        table.add(EventsSubscribe.self)
        table.add(EventsTopics.self)
        table.add(EventsUnsubscribe.self)

        table.add(HarExport.self)
        table.add(HeadersNormalize.self)
        table.add(MIMEMatch.self)

        table.add(InterceptorCreate.self)
        table.add(InterceptorDelete.self)
        table.add(InterceptorList.self)

        table.add(OAuthCallback.self)
        table.add(OAuthCreate.self)
        table.add(OAuthDelete.self)
        table.add(OAuthDevice.self)
        table.add(OAuthDiscover.self)
        table.add(OAuthGet.self)
        table.add(OAuthIntrospect.self)
        table.add(OAuthList.self)
        table.add(OAuthLogin.self)
        table.add(OAuthOfferPassphrase.self)
        table.add(OAuthRefresh.self)
        table.add(OAuthRevoke.self)
        table.add(OAuthSet.self)
        table.add(OAuthToken.self)
        table.add(OAuthWait.self)

        table.add(ReachabilityStatus.self)
        table.add(ReachabilityWatching.self)

        table.add(RequestAdopt.self)
        table.add(RequestAuthenticate.self)
        table.add(RequestBuild.self)
        table.add(RequestCancel.self)
        table.add(RequestCurl.self)
        table.add(RequestDecide.self)
        table.add(RequestDescribe.self)
        table.add(RequestDetach.self)
        table.add(RequestForget.self)
        table.add(RequestGet.self)
        table.add(RequestList.self)
        table.add(RequestResume.self)
        table.add(RequestSuspend.self)
        table.add(RequestWait.self)

        table.add(ResponseRead.self)
        table.add(ResponseRelease.self)
        table.add(ResponseSave.self)
        table.add(ResponseSerialize.self)
        table.add(ResponseValidate.self)

        table.add(RouterBuild.self)
        table.add(RouterDefine.self)
        table.add(RouterDelete.self)
        table.add(RouterDescribe.self)
        table.add(RouterImport.self)
        table.add(RouterList.self)
        table.add(RouterSend.self)
        table.add(RouterStart.self)

        table.add(RPCDiscover.self)

        table.add(ServerHello.self)
        table.add(ServerInfo.self)
        table.add(ServerMetrics.self)
        table.add(ServerSetLog.self)
        table.add(ServerStats.self)
        table.add(ServerStop.self)

        table.add(SessionCancelAll.self)
        table.add(SessionClose.self)
        table.add(SessionCreate.self)
        table.add(SessionFlush.self)
        table.add(SessionGet.self)
        table.add(SessionList.self)
        table.add(SessionResumeAll.self)
        table.add(SessionSuspendAll.self)
        table.add(SessionUpdate.self)

        table.add(SSEOpen.self)

        table.add(StreamAttach.self)
        table.add(StreamClose.self)
        table.add(StreamCredit.self)
        table.add(StreamFinish.self)
        table.add(StreamOpen.self)
        table.add(StreamRead.self)
        table.add(StreamWrite.self)

        table.add(StubAdd.self)
        table.add(StubList.self)
        table.add(StubRemove.self)
        table.add(StubRequests.self)

        table.add(TCPCloseRead.self)
        table.add(TCPOpen.self)
        table.add(TCPStartTLS.self)

        table.add(UploadOpen.self)
        table.add(UploadSend.self)
        table.add(UploadStart.self)

        table.add(WebSocketCloseMethod.self)
        table.add(WebSocketOpen.self)
        table.add(WebSocketPing.self)
        table.add(WebSocketSend.self)
        return table
    }()
}
