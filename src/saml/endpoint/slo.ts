import type { LogoutDestination } from "../../domain/grant/index.ts"
import { showError } from "../../login/index.ts"
import { redirect } from "../../oauth/index.ts"
import { parsePost, parseRedirect, type ReceivedMessage } from "../../xml/binding.ts"
import { findAttribute } from "../../xml/read.ts"
import { rejectedError } from "../error.ts"
import {
  continueLogout,
  handleParticipantResponse,
  respondToInitiator,
  startLogout,
} from "../logout/participants.ts"
import {
  findSessions,
  logoutServiceOf,
  parseNamedSessions,
  requireCurrent,
} from "../logout/request.ts"
import { openLogout, type PendingLogout, sealedLogoutPath } from "../logout/sealed-logout.ts"
import { paths } from "../path.ts"
import { openMessage } from "../request/receive.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"
import { parseForm } from "./form.ts"

/** SAML Profiles §4.4: single logout, started by either side. */
export const slo: Endpoint = {
  methods: ["GET", "POST"],
  handle: async (context) => {
    const { request, url } = context
    const id = url.searchParams.get("logout")
    if (request.method === "GET" && id !== null) return continueLogout(context, id)
    const carried = url.searchParams.get("carried")
    if (request.method === "GET" && carried !== null) return continueRequest(context, carried)
    const received = await parseReceived(context)
    return received.kind === "SAMLRequest"
      ? handleRequest(context, received)
      : handleResponse(context, received)
  },
}

/** The message in a URL or a form. */
export async function parseReceived({ request, url }: EndpointContext): Promise<ReceivedMessage> {
  const received =
    request.method === "POST"
      ? parsePost(await parseForm(request), rejectedError)
      : parseRedirect(url.search, rejectedError)
  if (received) return received
  throw rejectedError("SAMLRequest or SAMLResponse is required")
}

/** An application requests the end of a session, which ends everything that depends on it. */
async function handleRequest(
  context: EndpointContext,
  received: ReceivedMessage,
): Promise<Response> {
  const { cx, request, show } = context
  const message = await openMessage(cx, received, "LogoutRequest")
  if (!message) return showError(show, cx, { problem: "unknown_application" })
  const { found, root } = message
  requireCurrent(cx, root)
  const service = logoutServiceOf(found)
  if (!service) throw rejectedError("the registered metadata has no SingleLogoutService")
  const afterwards = {
    kind: "response",
    appId: found.appId,
    url: service.responseUrl,
    binding: service.binding,
    relayState: received.relayState,
    requestId: findAttribute(root, "ID") ?? "",
  } as const satisfies LogoutDestination
  const namedSessions = parseNamedSessions(message)
  if ("status" in namedSessions)
    return respondToInitiator(context, afterwards, namedSessions.status)
  const carried = { afterwards, ...namedSessions }
  const isOther = request.method === "POST" && namedSessions.indexes.length === 0
  const returnPath = isOther ? sealedLogoutPath(cx, paths.slo, carried) : undefined
  return returnPath === undefined ? endSessions(context, carried) : redirect(returnPath)
}

/** The browser returns with its cookie. */
function continueRequest(context: EndpointContext, text: string): Promise<Response> {
  const { cx, show } = context
  const carried = openLogout(cx, paths.slo, text)
  return carried ? endSessions(context, carried) : showError(show, cx, { problem: "expired" })
}

async function endSessions(
  context: EndpointContext,
  { afterwards, ...namedSessions }: PendingLogout,
): Promise<Response> {
  const { cx, request } = context
  const sessions = await findSessions(cx, { appId: afterwards.appId, ...namedSessions }, request)
  // A session that has already ended is what the request asked for.
  if (sessions.length === 0 && namedSessions.indexes.length === 0) {
    return respondToInitiator(context, afterwards, "unknownPrincipal")
  }
  return startLogout(context, { sessions, afterwards })
}

/** An application confirms the logout, or reports that it could not end the session. */
async function handleResponse(
  context: EndpointContext,
  received: ReceivedMessage,
): Promise<Response> {
  const { cx, show } = context
  const message = await openMessage(cx, received, "LogoutResponse")
  if (!message) return showError(show, cx, { problem: "unknown_application" })
  const { root, found, isSigned } = message
  // SAML Profiles §4.4.4.2. A participant without a signing key is identified by the message ID,
  // which only it received.
  if (!isSigned && found.provider.signingKeys.length > 0) {
    throw rejectedError(
      "the registered metadata contains a signing key, but the LogoutResponse is not signed",
    )
  }
  requireCurrent(cx, root)
  return handleParticipantResponse(context, { root, appId: found.appId })
}
