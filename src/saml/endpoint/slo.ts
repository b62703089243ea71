import type { Afterwards } from "../../domain/grant/index.ts"
import { showTrouble } from "../../login/index.ts"
import { redirect } from "../../oauth/index.ts"
import { fromAddress, fromForm, type Received } from "../../xml/binding.ts"
import { attributeOf } from "../../xml/read.ts"
import { refusedError } from "../error.ts"
import { type Carried, carryingPath, readCarried } from "../logout/carried.ts"
import { logoutServiceOf, meantBy, mustBeCurrent, namedBy } from "../logout/request.ts"
import { answeredBy, endAsked, goOn, respond } from "../logout/walk.ts"
import { paths } from "../path.ts"
import { opened } from "../request/receive.ts"
import type { Asking, Endpoint } from "./endpoint.ts"
import { formOf } from "./form.ts"

/** SAML Profiles §4.4: the end of a session, whoever begins it. */
export const slo: Endpoint = {
  methods: ["GET", "POST"],
  answer: async (asking) => {
    const { request, url } = asking
    const id = url.searchParams.get("logout")
    if (request.method === "GET" && id !== null) return goOn(asking, id)
    const carried = url.searchParams.get("carried")
    if (request.method === "GET" && carried !== null) return brought(asking, carried)
    const received = await receivedBy(asking)
    return received.kind === "SAMLRequest" ? asked(asking, received) : answered(asking, received)
  },
}

/** The message that somebody has sent by an address or a form. */
export async function receivedBy({ request, url }: Asking): Promise<Received> {
  const received =
    request.method === "POST"
      ? fromForm(await formOf(request), refusedError)
      : fromAddress(url.search, refusedError)
  if (received) return received
  throw refusedError("SAMLRequest or SAMLResponse is missing")
}

/** An application wants a session to end: with it everything ends that hangs from it. */
async function asked(asking: Asking, received: Received): Promise<Response> {
  const { cx, request, show } = asking
  const message = await opened(cx, received, "LogoutRequest")
  if (!message) return showTrouble(show, cx, { problem: "unknown_application" })
  const { found, root } = message
  mustBeCurrent(cx, root)
  const service = logoutServiceOf(found)
  if (!service) throw refusedError("the registered metadata has no SingleLogoutService")
  const afterwards = {
    kind: "response",
    appId: found.appId,
    url: service.responseUrl,
    binding: service.binding,
    relayState: received.relayState,
    requestId: attributeOf(root, "ID") ?? "",
  } as const satisfies Afterwards
  const named = namedBy(message)
  if ("status" in named) return respond(asking, afterwards, named.status)
  const carried = { afterwards, ...named }
  const isOther = request.method === "POST" && named.indexes.length === 0
  const there = isOther ? carryingPath(cx, paths.slo, carried) : undefined
  return there === undefined ? end(asking, carried) : redirect(there)
}

/** The browser has come again, with its cookie. */
function brought(asking: Asking, text: string): Promise<Response> {
  const { cx, show } = asking
  const carried = readCarried(cx, paths.slo, text)
  return carried ? end(asking, carried) : showTrouble(show, cx, { problem: "expired" })
}

async function end(asking: Asking, { afterwards, ...named }: Carried): Promise<Response> {
  const { cx, request } = asking
  const sessions = await meantBy(cx, { appId: afterwards.appId, ...named }, request)
  // One that is over already is over: that is what was asked for.
  if (sessions.length === 0 && named.indexes.length === 0) {
    return respond(asking, afterwards, "unknownPrincipal")
  }
  return endAsked(asking, { sessions, afterwards })
}

/** An application has answered that it knows; or that it could not end the session. */
async function answered(asking: Asking, received: Received): Promise<Response> {
  const { cx, show } = asking
  const message = await opened(cx, received, "LogoutResponse")
  if (!message) return showTrouble(show, cx, { problem: "unknown_application" })
  const { root, found, isSigned } = message
  // SAML Profiles §4.4.4.2. Who has no key to sign with names what it alone was asked.
  if (!isSigned && found.provider.signingKeys.length > 0) {
    throw refusedError("the registered metadata has a key, and the LogoutResponse is not signed")
  }
  mustBeCurrent(cx, root)
  return answeredBy(asking, { root, appId: found.appId })
}
