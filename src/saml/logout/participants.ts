import { findServiceProviderByApp } from "../../domain/app/index.ts"
import {
  addSamlLogout,
  type LogoutDestination,
  type LogoutParticipant,
  listLogoutParticipants,
  recordLogoutResult,
  type SamlLogout,
  samlLogout,
  samlLogoutPath,
} from "../../domain/grant/index.ts"
import {
  findIdpById,
  type OwnedIdp,
  serviceProviderFor,
  signerOf,
  storedProvider,
} from "../../domain/idp/index.ts"
import { endSession } from "../../domain/session/index.ts"
import { requestedName, showError } from "../../login/index.ts"
import { frontChannelUris, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { type Status, statuses } from "../../xml/names.ts"
import { type Element, findAttribute, findChild } from "../../xml/read.ts"
import { element, type XmlNode } from "../../xml/write.ts"
import type { EndpointContext } from "../endpoint/endpoint.ts"
import { readingOptions, rejectedError } from "../error.ts"
import { entityOfInstance } from "../path.ts"
import { buildMessage, buildStatus } from "../response/message.ts"
import { buildNameId } from "../response/name-id.ts"
import { type OutgoingMessage, send } from "../response/send.ts"
import { logoutServiceOf } from "./request.ts"

/**
 * The initiator of a single logout, who receives a response after all participants were notified.
 */
export type LogoutInitiator = Extract<LogoutDestination, { kind: "response" | "provider response" }>

/**
 * Ends the requested sessions; all participants are notified before the initiator receives a
 * response.
 */
export async function startLogout(
  context: EndpointContext,
  { sessions, afterwards }: { sessions: readonly string[]; afterwards: LogoutInitiator },
): Promise<Response> {
  const { cx, show } = context
  const participant = listLogoutParticipants(cx, sessions).filter(
    (each) => each.appId !== afterwards.appId,
  )
  const frames = frontChannelUris(cx, sessions)
  const isAlone = participant.length === 0 && frames.length === 0
  const step = await cx.store.transact(cx, (tx) => {
    for (const id of sessions) endSession(tx, id)
    return isAlone ? undefined : addSamlLogout(tx, cx, { untold: participant, afterwards })
  })
  if (step.value === undefined) return respondToInitiator(context, afterwards, "success")
  const next = samlLogoutPath(step.value)
  if (frames.length === 0) return redirect(next)
  return show(cx, (ui, shared) => ui.SigningOutPage({ ...shared, frames, continueHref: next }), {
    frames,
    continueTo: next,
  })
}

/** A participant confirms the logout, or reports that it could not end the session. */
export async function handleParticipantResponse(
  context: EndpointContext,
  { root, appId }: { readonly root: Element; readonly appId: string },
): Promise<Response> {
  const { cx } = context
  const { id, logout } = requireOpenLogout(cx, findAttribute(root, "InResponseTo") ?? "")
  const [first] = logout.untold
  // Only a notified participant can respond, once.
  if (first?.appId !== appId) throw rejectedError("InResponseTo matches no request")
  const status = findChild(root, ["samlp", "Status"], readingOptions)
  const code = status && findChild(status, ["samlp", "StatusCode"], readingOptions)
  const isDone = findAttribute(code, "Value") === statuses.success
  await cx.store.transact(cx, (tx) => recordLogoutResult(tx, id, appId, isDone))
  return continueLogout(context, id)
}

type OpenLogout = Extract<SamlLogout, { status: "open" }>

/** The logout that a message ID belongs to. */
function requireOpenLogout(
  cx: Cx,
  messageId: string,
): { readonly id: string; readonly logout: OpenLogout } {
  const [, sealed = ""] = /^_(.*)$/.exec(messageId) ?? []
  const [id = "", rest = ""] = (cx.secrets.open("token", sealed, sealContextOf(cx)) ?? "").split(
    " ",
  )
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status === "open" && rest === String(logout.untold.length)) return { id, logout }
  throw rejectedError("InResponseTo matches no request")
}

/**
 * The ID of the next message (SAML Core §1.3.4). It is sealed, so that a participant learns nothing
 * about others and can't respond for them.
 */
const messageIdOf = (cx: Cx, id: string, { untold: participant }: OpenLogout): string =>
  `_${cx.secrets.seal("token", `${id} ${participant.length}`, sealContextOf(cx))}`

const sealContextOf = (cx: Cx) => `saml_logout/${cx.instance}`

/** Notifies the next participant; after the last one, redirects to the destination. */
export async function continueLogout(context: EndpointContext, id: string): Promise<Response> {
  const { cx, show } = context
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status !== "open") return showError(show, cx, { problem: "expired" })
  const [next] = logout.untold
  if (!next) {
    const { afterwards, isComplete } = logout
    return afterwards.kind === "location"
      ? redirect(afterwards.url)
      : respondToInitiator(context, afterwards, isComplete ? "success" : "partialLogout")
  }
  const outgoing = await createRequest(cx, next, messageIdOf(cx, id, logout))
  if (!outgoing) {
    await cx.store.transact(cx, (tx) => recordLogoutResult(tx, id, next.appId, false))
    return continueLogout(context, id)
  }
  return send(cx, outgoing, { show, application: displayNameOf(cx, next.appId), cookies: [] })
}

/** The display name of a participant. */
const displayNameOf = (cx: Cx, appId: string): string =>
  requestedName(cx, { clientId: "", appId }) || (findIdpById(cx, appId)?.idp.name ?? "")

const minuteMs = 60_000

/** SAML Core §3.7.1; undefined for a participant without a logout service. */
async function createRequest(
  cx: Cx,
  participant: LogoutParticipant,
  id: string,
): Promise<OutgoingMessage | undefined> {
  const prepared = participant.upstream
    ? await prepareForProvider(cx, participant)
    : await prepareForApp(cx, participant)
  if (!prepared) return undefined
  const NotOnOrAfter = new Date(cx.clock.now() + 5 * minuteMs).toISOString()
  const { node, ...outgoing } = prepared
  const attributes = { ...node.attributes, ID: id, NotOnOrAfter }
  return { ...outgoing, kind: "SAMLRequest", node: { ...node, attributes }, relayState: "" }
}

type PreparedRequest = Pick<OutgoingMessage, "node" | "url" | "binding" | "signer">

async function prepareForApp(
  cx: Cx,
  participant: LogoutParticipant,
): Promise<PreparedRequest | undefined> {
  const found = await findServiceProviderByApp(cx, participant.appId)
  const service = found && logoutServiceOf(found)
  if (!service) return undefined
  const self = entityOfInstance(cx).entityId
  const nameId = buildNameId(participant, { self, entityId: found.provider.entityId })
  const { url: destination, binding } = service
  const node = requestNode(cx, { destination }, { nameId, sessionIndex: participant.sessionId })
  return { node, url: destination, binding }
}

/** The identity provider of a session is notified with the identifiers from its own assertion. */
async function prepareForProvider(
  cx: Cx,
  { appId, upstream }: LogoutParticipant,
): Promise<PreparedRequest | undefined> {
  const found = findIdpById(cx, appId)
  const service = await findLogoutService(cx, found)
  if (!found || !service || !upstream) return undefined
  const { value, format, nameQualifier, spNameQualifier, sessionIndex } = upstream
  const qualifiers = {
    NameQualifier: nameQualifier || undefined,
    SPNameQualifier: spNameQualifier || undefined,
  }
  const nameId = element("saml:NameID", { Format: format, ...qualifiers }, value)
  const { url: destination, binding } = service
  const issuer = serviceProviderFor(cx, appId).entityId
  const node = requestNode(cx, { destination, issuer }, { nameId, sessionIndex })
  return { node, url: destination, binding, signer: await signerOf(cx, found) }
}

/** Where an identity provider receives logout messages; undefined if it does not. */
export async function findLogoutService(cx: Cx, idp: OwnedIdp | undefined) {
  if (idp?.idp.settings.kind !== "saml") return undefined
  return logoutServiceOf({ provider: await storedProvider(cx, idp) })
}

type MessageTarget = { readonly destination: string; readonly issuer?: string }
type LogoutSubject = { readonly nameId: XmlNode; readonly sessionIndex: string }

const requestNode = (cx: Cx, to: MessageTarget, { nameId, sessionIndex }: LogoutSubject): XmlNode =>
  buildMessage(
    cx,
    "samlp:LogoutRequest",
    to,
    nameId,
    ...(sessionIndex === "" ? [] : [element("samlp:SessionIndex", {}, sessionIndex)]),
  )

/** SAML Core §3.7.3. */
export async function respondToInitiator(
  { cx, show }: EndpointContext,
  to: LogoutInitiator,
  status: Status,
): Promise<Response> {
  const { appId, url, binding, requestId: inResponseTo, relayState } = to
  const found = to.kind === "provider response" ? findIdpById(cx, appId) : undefined
  const own = found && { issuer: serviceProviderFor(cx, appId).entityId }
  const addressed = { destination: url, inResponseTo, ...own }
  const node = buildMessage(cx, "samlp:LogoutResponse", addressed, buildStatus(status))
  const signer = found && { signer: await signerOf(cx, found) }
  const outgoing: OutgoingMessage = {
    kind: "SAMLResponse",
    node,
    url,
    binding,
    relayState,
    ...signer,
  }
  return send(cx, outgoing, { show, application: displayNameOf(cx, appId), cookies: [] })
}
