import type { LogoutDestination } from "../../domain/grant/index.ts"
import {
  currentProvider,
  findIdpById,
  type OwnedIdp,
  providerIdOfPath,
  serviceProviderFor,
} from "../../domain/idp/index.ts"
import { session, sessionIdsOf } from "../../domain/session/index.ts"
import { findLinkedUser } from "../../domain/user-link/index.ts"
import { loadBrowserContext, showError } from "../../login/index.ts"
import { redirect } from "../../oauth/index.ts"
import type { ReceivedMessage } from "../../xml/binding.ts"
import { childrenOf, type Element, findAttribute, findChild, requireText } from "../../xml/read.ts"
import { readingOptions, rejectedError } from "../error.ts"
import {
  findLogoutService,
  handleParticipantResponse,
  respondToInitiator,
  startLogout,
} from "../logout/participants.ts"
import { requireCurrent } from "../logout/request.ts"
import { openLogout, type PendingLogout, sealedLogoutPath } from "../logout/sealed-logout.ts"
import { issuerOf, parseMessage, verifySignature } from "../request/receive.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"
import { parseReceived } from "./slo.ts"

/** SAML Profiles §4.4, with the identity provider that a session came from. */
export const providerSlo: Endpoint = {
  methods: ["GET", "POST"],
  handle: async (context) => {
    const { cx, show } = context
    const id = providerIdOfPath(context.url.pathname) ?? ""
    const found = findIdpById(cx, id)
    const settings = found?.idp.settings
    if (!found || settings?.kind !== "saml" || !settings.federatedLogout) {
      return showError(show, cx, { problem: "not_found", status: 404 })
    }
    const { request, url } = context
    const carried = url.searchParams.get("carried")
    if (request.method === "GET" && carried !== null)
      return continueRequest(context, found, carried)
    const received = await parseReceived(context)
    const isAsking = received.kind === "SAMLRequest"
    const root = await verifyProviderMessage(context, found, {
      received,
      name: isAsking ? "LogoutRequest" : "LogoutResponse",
    })
    return isAsking
      ? handleRequest(context, found, { root, relayState: received.relayState })
      : handleParticipantResponse(context, { root, appId: id })
  },
}

type ReceivedFromProvider = { readonly received: ReceivedMessage; readonly name: string }

/** Verifies that the provider signed the message; no one else can end the session. */
async function verifyProviderMessage(
  { cx }: EndpointContext,
  idp: OwnedIdp,
  { received, name }: ReceivedFromProvider,
): Promise<Element> {
  const { entityId, signingKeys: keys } = await currentProvider(cx, idp)
  const messageRoot = await parseMessage(received, name)
  if (issuerOf(messageRoot) !== entityId)
    throw rejectedError("the Issuer is a different identity provider")
  const { root, isSigned } = await verifySignature(received, messageRoot, { cx, keys, entityId })
  if (!isSigned) throw rejectedError("the message must be signed")
  requireCurrent(cx, root, serviceProviderFor(cx, idp.idp.id))
  return root
}

type ProviderLogoutRequest = { readonly root: Element; readonly relayState: string }

/** The user signed out at the provider: sessions from there end here. */
async function handleRequest(
  context: EndpointContext,
  idp: OwnedIdp,
  { root, relayState }: ProviderLogoutRequest,
): Promise<Response> {
  const { cx } = context
  const service = await findLogoutService(cx, idp)
  if (!service) throw rejectedError("the metadata of the provider contains no SingleLogoutService")
  const afterwards = {
    kind: "provider response",
    appId: idp.idp.id,
    url: service.responseUrl,
    binding: service.binding,
    relayState,
    requestId: findAttribute(root, "ID") ?? "",
  } as const satisfies LogoutDestination
  const nameId = findChild(root, ["saml", "NameID"], readingOptions)
  if (!nameId) return respondToInitiator(context, afterwards, "requestUnsupported")
  const indexes = childrenOf(root, "samlp", "SessionIndex").map((each) =>
    requireText(each, readingOptions),
  )
  const carried = { afterwards, name: requireText(nameId, readingOptions), indexes }
  const sessions = await findSessions(context, idp, carried)
  // A transient NameID is linked to no user: only the browser identifies the session.
  const isOther = context.request.method === "POST" && sessions.length === 0
  const returnPath = isOther ? sealedLogoutPath(cx, context.url.pathname, carried) : undefined
  return returnPath === undefined ? endSessions(context, carried, sessions) : redirect(returnPath)
}

/** The browser returns with its cookie. */
async function continueRequest(
  context: EndpointContext,
  idp: OwnedIdp,
  text: string,
): Promise<Response> {
  const { cx, show, url } = context
  const carried = openLogout(cx, url.pathname, text)
  if (!carried) return showError(show, cx, { problem: "expired" })
  return endSessions(context, carried, await findSessions(context, idp, carried))
}

function endSessions(
  context: EndpointContext,
  { afterwards, indexes }: PendingLogout,
  sessions: readonly string[],
): Promise<Response> {
  // A session that has already ended is what the request asked for.
  if (sessions.length === 0 && indexes.length === 0) {
    return respondToInitiator(context, afterwards, "unknownPrincipal")
  }
  return startLogout(context, { sessions, afterwards })
}

type NamedSessions = { readonly name: string; readonly indexes: readonly string[] }

/** The sessions from the provider, in this browser and of users linked by this NameID. */
async function findSessions(
  { cx, request }: EndpointContext,
  { idp: { id: idpId } }: OwnedIdp,
  { name, indexes }: NamedSessions,
): Promise<readonly string[]> {
  const here = (await loadBrowserContext(cx, request)).browser.sessions
  const userId = findLinkedUser(cx, { idpId, externalId: name })
  const userSessions = userId === undefined ? [] : sessionIdsOf(cx, userId)
  return [...new Set([...here, ...userSessions])].filter((id) => {
    const { status, vouched } = cx.store.state(cx, session, id)
    const { upstream } = vouched ?? {}
    if (status !== "active" || vouched?.idpId !== idpId || upstream?.value !== name) return false
    return indexes.length === 0 || indexes.includes(upstream.sessionIndex)
  })
}
