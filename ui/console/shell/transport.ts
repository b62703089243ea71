import { Code, ConnectError, type Interceptor } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-web"
import { reportUnreachable } from "./connection.ts"
import { notePositions } from "./position.ts"
import { isTooOld, refusalOf } from "./refusal.ts"
import { accessToken, renewedFresh, tokenAfter } from "./session.ts"
import { language } from "./text.ts"

/** Sends the token; where the server no longer takes it, it is renewed, and the call made again. */
const bearer: Interceptor = (next) => async (request) => {
  const token = await accessToken()
  request.header.set("authorization", `Bearer ${token}`)
  try {
    return await next(request)
  } catch (failure) {
    if (ConnectError.from(failure).code !== Code.Unauthenticated) throw failure
    if (isTooOld(refusalOf(failure)) && !(await renewedFresh())) throw failure
    request.header.set("authorization", `Bearer ${await tokenAfter(token)}`)
    return await next(request)
  }
}

/** A browser says TypeError where nobody answered; the page then waits for the server. */
const reaching: Interceptor = (next) => async (request) => {
  try {
    return await next(request)
  } catch (failure) {
    const { cause, code } = ConnectError.from(failure)
    if (code === Code.Canceled || !(cause instanceof TypeError)) throw failure
    reportUnreachable()
    throw new ConnectError("", Code.Unavailable, undefined, undefined, cause)
  }
}

/** The server says what happened in the language that the page is in. */
const speaking: Interceptor = (next) => (request) => {
  request.header.set("accept-language", language)
  return next(request)
}

/** The management interface, by the person who is signed in. */
export const transport = createConnectTransport({
  baseUrl: "/",
  interceptors: [notePositions, reaching, speaking, bearer],
})
