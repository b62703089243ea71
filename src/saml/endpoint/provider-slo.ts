import type { Afterwards } from "../../domain/grant/index.ts"
import { type Found, idpById, providerIn, providerNow, samlSelf } from "../../domain/idp/index.ts"
import { session, sessionsOf } from "../../domain/session/index.ts"
import { linkedUser } from "../../domain/user-link/index.ts"
import { browserContextOf, showTrouble } from "../../login/index.ts"
import { redirect } from "../../oauth/index.ts"
import type { Received } from "../../xml/binding.ts"
import { attributeOf, childOf, childrenOf, type Element, textOf } from "../../xml/read.ts"
import { reading, refusedError } from "../error.ts"
import { type Carried, carryingPath, readCarried } from "../logout/carried.ts"
import { mustBeCurrent } from "../logout/request.ts"
import { answeredBy, endAsked, logoutServiceAt, respond } from "../logout/walk.ts"
import { issuerOf, rootNamed, verified } from "../request/receive.ts"
import type { Asking, Endpoint } from "./endpoint.ts"
import { receivedBy } from "./slo.ts"

/** SAML Profiles §4.4, where the other side is the identity provider that a session came from. */
export const providerSlo: Endpoint = {
  methods: ["GET", "POST"],
  answer: async (asking) => {
    const { cx, show } = asking
    const id = providerIn(asking.url.pathname) ?? ""
    const found = idpById(cx, id)
    const settings = found?.idp.settings
    if (!found || settings?.kind !== "saml" || !settings.federatedLogout) {
      return showTrouble(show, cx, { problem: "not_found", status: 404 })
    }
    const { request, url } = asking
    const carried = url.searchParams.get("carried")
    if (request.method === "GET" && carried !== null) return brought(asking, found, carried)
    const received = await receivedBy(asking)
    const isAsking = received.kind === "SAMLRequest"
    const root = await signedBy(asking, found, {
      received,
      name: isAsking ? "LogoutRequest" : "LogoutResponse",
    })
    return isAsking
      ? asked(asking, found, { root, relayState: received.relayState })
      : answeredBy(asking, { root, appId: id })
  },
}

type Named = { readonly received: Received; readonly name: string }

/** What the provider has said and signed; nobody else ends anybody's session. */
async function signedBy({ cx }: Asking, found: Found, { received, name }: Named): Promise<Element> {
  const { entityId, signingKeys: keys } = await providerNow(cx, found)
  const sent = await rootNamed(received, name)
  if (issuerOf(sent) !== entityId) throw refusedError("the Issuer is another identity provider")
  const { root, isSigned } = await verified(received, sent, { cx, keys, entityId })
  if (!isSigned) throw refusedError("the message must be signed")
  mustBeCurrent(cx, root, samlSelf(cx, found.idp.id))
  return root
}

type Asked = { readonly root: Element; readonly relayState: string }

/** The person has signed out there: what came from there ends here. */
async function asked(asking: Asking, found: Found, { root, relayState }: Asked): Promise<Response> {
  const { cx } = asking
  const service = await logoutServiceAt(cx, found)
  if (!service) throw refusedError("the metadata of the provider have no SingleLogoutService")
  const afterwards = {
    kind: "provider response",
    appId: found.idp.id,
    url: service.responseUrl,
    binding: service.binding,
    relayState,
    requestId: attributeOf(root, "ID") ?? "",
  } as const satisfies Afterwards
  const nameId = childOf(root, ["saml", "NameID"], reading)
  if (!nameId) return respond(asking, afterwards, "requestUnsupported")
  const indexes = childrenOf(root, "samlp", "SessionIndex").map((each) => textOf(each, reading))
  const carried = { afterwards, name: textOf(nameId, reading), indexes }
  const sessions = await meantBy(asking, found, carried)
  // A name that is good for one session is linked to nobody: the browser alone knows which it is.
  const isOther = asking.request.method === "POST" && sessions.length === 0
  const there = isOther ? carryingPath(cx, asking.url.pathname, carried) : undefined
  return there === undefined ? end(asking, carried, sessions) : redirect(there)
}

/** The browser has come again, with its cookie. */
async function brought(asking: Asking, found: Found, text: string): Promise<Response> {
  const { cx, show, url } = asking
  const carried = readCarried(cx, url.pathname, text)
  if (!carried) return showTrouble(show, cx, { problem: "expired" })
  return end(asking, carried, await meantBy(asking, found, carried))
}

function end(
  asking: Asking,
  { afterwards, indexes }: Carried,
  sessions: readonly string[],
): Promise<Response> {
  // One that is over already is over: that is what was asked for.
  if (sessions.length === 0 && indexes.length === 0) {
    return respond(asking, afterwards, "unknownPrincipal")
  }
  return endAsked(asking, { sessions, afterwards })
}

type Meant = { readonly name: string; readonly indexes: readonly string[] }

/** Of this browser, and of who is linked by this name, the sessions that the provider began. */
async function meantBy(
  { cx, request }: Asking,
  { idp: { id: idpId } }: Found,
  { name, indexes }: Meant,
): Promise<readonly string[]> {
  const here = (await browserContextOf(cx, request)).browser.sessions
  const userId = linkedUser(cx, { idpId, externalId: name })
  const theirs = userId === undefined ? [] : sessionsOf(cx, userId)
  return [...new Set([...here, ...theirs])].filter((id) => {
    const { status, vouched } = cx.store.state(cx, session, id)
    const { upstream } = vouched ?? {}
    if (status !== "active" || vouched?.idpId !== idpId || upstream?.value !== name) return false
    return indexes.length === 0 || indexes.includes(upstream.sessionIndex)
  })
}
