import { Code, ConnectError, type Interceptor } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-web"
import { reportUnreachable } from "./connection.ts"
import { recordPositions } from "./position.ts"
import { isSignInTooOld, refusalOf } from "./refusal.ts"
import { accessToken, renewFresh, renewToken } from "./session.ts"
import { language } from "./text.ts"

/** Sends the access token; if the server rejects it, renews it and repeats the call. */
const withToken: Interceptor = (next) => async (request) => {
  const token = await accessToken()
  request.header.set("authorization", `Bearer ${token}`)
  try {
    return await next(request)
  } catch (failure) {
    if (ConnectError.from(failure).code !== Code.Unauthenticated) throw failure
    if (isSignInTooOld(refusalOf(failure)) && !(await renewFresh())) throw failure
    request.header.set("authorization", `Bearer ${await renewToken(token)}`)
    return await next(request)
  }
}

/** Browsers throw a TypeError if the server can't be reached; the page then waits for it. */
const withReachability: Interceptor = (next) => async (request) => {
  try {
    return await next(request)
  } catch (failure) {
    const { cause, code } = ConnectError.from(failure)
    if (code === Code.Canceled || !(cause instanceof TypeError)) throw failure
    reportUnreachable()
    throw new ConnectError("", Code.Unavailable, undefined, undefined, cause)
  }
}

/** Requests server messages in the language of the page. */
const withLanguage: Interceptor = (next) => (request) => {
  request.header.set("accept-language", language)
  return next(request)
}

/** The management API as the signed-in user. */
export const transport = createConnectTransport({
  baseUrl: "/",
  interceptors: [recordPositions, withReachability, withLanguage, withToken],
})
