import { serviceProviderOf } from "../../domain/app/index.ts"
import {
  type Afterwards,
  addSamlLogout,
  noteTold,
  type SamlLogout,
  samlLogout,
  samlLogoutPath,
  type Untold,
  untoldOf,
} from "../../domain/grant/index.ts"
import { type Found, idpById, keptProvider, samlSelf, signerOf } from "../../domain/idp/index.ts"
import { endSession } from "../../domain/session/index.ts"
import { askedName, showTrouble } from "../../login/index.ts"
import { logoutFrames, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { type Status, statuses } from "../../xml/names.ts"
import { attributeOf, childOf, type Element } from "../../xml/read.ts"
import { element, type Written } from "../../xml/write.ts"
import type { Asking } from "../endpoint/endpoint.ts"
import { reading, refusedError } from "../error.ts"
import { selfOf } from "../path.ts"
import { message, statusOf } from "../response/message.ts"
import { nameIdElement } from "../response/name-id.ts"
import { send, type Way } from "../response/send.ts"
import { logoutServiceOf } from "./request.ts"

/** Who has asked for the end of a session, and is answered when all others know. */
export type Answering = Extract<Afterwards, { kind: "response" | "provider response" }>

/** Ends sessions that somebody has asked to end; has all others told before they are answered. */
export async function endAsked(
  asking: Asking,
  { sessions, afterwards }: { sessions: readonly string[]; afterwards: Answering },
): Promise<Response> {
  const { cx, show } = asking
  const untold = untoldOf(cx, sessions).filter((each) => each.appId !== afterwards.appId)
  const frames = logoutFrames(cx, sessions)
  const isAlone = untold.length === 0 && frames.length === 0
  const step = await cx.store.transact(cx, (tx) => {
    for (const id of sessions) endSession(tx, id)
    return isAlone ? undefined : addSamlLogout(tx, cx, { untold, afterwards })
  })
  if (step.value === undefined) return respond(asking, afterwards, "success")
  const next = samlLogoutPath(step.value)
  if (frames.length === 0) return redirect(next)
  return show(cx, (ui, shared) => ui.SigningOutPage({ ...shared, frames, continueHref: next }), {
    frames,
    continueTo: next,
  })
}

/** Somebody who was told has answered that they know; or that they could not end the session. */
export async function answeredBy(
  asking: Asking,
  { root, appId }: { readonly root: Element; readonly appId: string },
): Promise<Response> {
  const { cx } = asking
  const { id, logout } = openLogout(cx, attributeOf(root, "InResponseTo") ?? "")
  const [first] = logout.untold
  // What was not asked is no answer; and each asks once.
  if (first?.appId !== appId) throw refusedError("InResponseTo names no request of ours")
  const status = childOf(root, ["samlp", "Status"], reading)
  const code = status && childOf(status, ["samlp", "StatusCode"], reading)
  const isDone = attributeOf(code, "Value") === statuses.success
  await cx.store.transact(cx, (tx) => noteTold(tx, id, appId, isDone))
  return goOn(asking, id)
}

type Open = Extract<SamlLogout, { status: "open" }>

/** The sign-out that a message of ours belongs to. */
function openLogout(cx: Cx, messageId: string): { readonly id: string; readonly logout: Open } {
  const [, sealed = ""] = /^_(.*)$/.exec(messageId) ?? []
  const [id = "", left = ""] = (cx.secrets.open("token", sealed, aboutOf(cx)) ?? "").split(" ")
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status === "open" && left === String(logout.untold.length)) return { id, logout }
  throw refusedError("InResponseTo names no request of ours")
}

/**
 * The ID of the message that is sent next (SAML Core §1.3.4). It is sealed: who is told learns
 * neither what others are told, nor how to answer for them.
 */
const messageIdOf = (cx: Cx, id: string, { untold }: Open): string =>
  `_${cx.secrets.seal("token", `${id} ${untold.length}`, aboutOf(cx))}`

const aboutOf = (cx: Cx) => `saml_logout/${cx.instance}`

/** Has the next one told; when there is none left, ends where it was to end. */
export async function goOn(asking: Asking, id: string): Promise<Response> {
  const { cx, show } = asking
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status !== "open") return showTrouble(show, cx, { problem: "expired" })
  const [next] = logout.untold
  if (!next) {
    const { afterwards, isComplete } = logout
    return afterwards.kind === "location"
      ? redirect(afterwards.url)
      : respond(asking, afterwards, isComplete ? "success" : "partialLogout")
  }
  const way = await requestTo(cx, next, messageIdOf(cx, id, logout))
  if (!way) {
    await cx.store.transact(cx, (tx) => noteTold(tx, id, next.appId, false))
    return goOn(asking, id)
  }
  return send(cx, way, { show, application: nameOf(cx, next.appId), cookies: [] })
}

/** What people call whoever is told. */
const nameOf = (cx: Cx, appId: string): string =>
  askedName(cx, { clientId: "", appId }) || (idpById(cx, appId)?.idp.name ?? "")

const minute = 60_000

/** SAML Core §3.7.1; undefined for who takes no such request. */
async function requestTo(cx: Cx, untold: Untold, id: string): Promise<Way | undefined> {
  const asked = untold.upstream ? await askedOfProvider(cx, untold) : await askedOfApp(cx, untold)
  if (!asked) return undefined
  const NotOnOrAfter = new Date(cx.clock.now() + 5 * minute).toISOString()
  const { node, ...way } = asked
  const attributes = { ...node.attributes, ID: id, NotOnOrAfter }
  return { ...way, kind: "SAMLRequest", node: { ...node, attributes }, relayState: "" }
}

type Request = Pick<Way, "node" | "url" | "binding" | "signer">

async function askedOfApp(cx: Cx, untold: Untold): Promise<Request | undefined> {
  const found = await serviceProviderOf(cx, untold.appId)
  const service = found && logoutServiceOf(found)
  if (!service) return undefined
  const self = selfOf(cx).entityId
  const nameId = nameIdElement(untold, { self, entityId: found.provider.entityId })
  const { url: destination, binding } = service
  const node = requestNode(cx, { destination }, { nameId, sessionIndex: untold.sessionId })
  return { node, url: destination, binding }
}

/** The provider that a session came from is told by the names that it gave itself. */
async function askedOfProvider(cx: Cx, { appId, upstream }: Untold): Promise<Request | undefined> {
  const found = idpById(cx, appId)
  const service = await logoutServiceAt(cx, found)
  if (!found || !service || !upstream) return undefined
  const { value, format, nameQualifier, spNameQualifier, sessionIndex } = upstream
  const qualifiers = {
    NameQualifier: nameQualifier || undefined,
    SPNameQualifier: spNameQualifier || undefined,
  }
  const nameId = element("saml:NameID", { Format: format, ...qualifiers }, value)
  const { url: destination, binding } = service
  const issuer = samlSelf(cx, appId).entityId
  const node = requestNode(cx, { destination, issuer }, { nameId, sessionIndex })
  return { node, url: destination, binding, signer: await signerOf(cx, found) }
}

/** Where a provider takes what is about the end of a session; undefined where it doesn't. */
export async function logoutServiceAt(cx: Cx, found: Found | undefined) {
  if (found?.idp.settings.kind !== "saml") return undefined
  return logoutServiceOf({ provider: await keptProvider(cx, found) })
}

type To = { readonly destination: string; readonly issuer?: string }
type Meant = { readonly nameId: Written; readonly sessionIndex: string }

const requestNode = (cx: Cx, to: To, { nameId, sessionIndex }: Meant): Written =>
  message(
    cx,
    "samlp:LogoutRequest",
    to,
    nameId,
    ...(sessionIndex === "" ? [] : [element("samlp:SessionIndex", {}, sessionIndex)]),
  )

/** SAML Core §3.7.3. */
export async function respond(
  { cx, show }: Asking,
  to: Answering,
  status: Status,
): Promise<Response> {
  const { appId, url, binding, requestId: inResponseTo, relayState } = to
  const found = to.kind === "provider response" ? idpById(cx, appId) : undefined
  const own = found && { issuer: samlSelf(cx, appId).entityId }
  const addressed = { destination: url, inResponseTo, ...own }
  const node = message(cx, "samlp:LogoutResponse", addressed, statusOf(status))
  const signer = found && { signer: await signerOf(cx, found) }
  const way: Way = { kind: "SAMLResponse", node, url, binding, relayState, ...signer }
  return send(cx, way, { show, application: nameOf(cx, appId), cookies: [] })
}
