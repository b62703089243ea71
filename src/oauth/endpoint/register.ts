import {
  type ClientMetadata,
  findClient,
  isValidSecret,
  registerApplication,
  removeApplication,
  updateRegistration,
} from "../../domain/app/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { challengeResponse, missingTokenResponse } from "../challenge.ts"
import { OAuthError } from "../error.ts"
import { issuerOf, paths } from "../issuer.ts"
import {
  authenticateRegistrant,
  authenticateRegistration,
  type Registrant,
} from "../registration/access.ts"
import { findString, type Members, metadataError, parseBody } from "../registration/json-member.ts"
import { formatMetadata, parseMetadata } from "../registration/metadata.ts"
import { recordRejectedRequest } from "../rejected-request.ts"
import { json, noStore } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/**
 * RFC 7591 §3 and OpenID Connect Dynamic Client Registration §3: an application registers itself.
 * RFC 7592 §2: it reads, updates and deletes its registration at the same URL with its client ID.
 */
export const register: Endpoint = {
  methods: ["POST", "GET", "PUT", "DELETE"],
  anyOrigin: true,
  exists: (cx) => requireInstance(cx).oidc.registration.mode !== "off",
  handle: async (context) => {
    try {
      return await handleRequest(context)
    } catch (cause) {
      const fault = cause instanceof Fault ? metadataErrorOf(cause) : cause
      const isToken = fault instanceof OAuthError && (fault.status === 401 || fault.status === 403)
      if (!isToken) throw fault
      if (context.request.headers.get("authorization") === null) return missingTokenResponse(realm)
      await recordRejectedRequest(context, fault)
      return challengeResponse(context.cx, { scheme: "bearer", realm }, fault)
    }
  },
}

const realm = "registration"

function handleRequest(context: EndpointContext): Promise<Response> | Response {
  const { cx, request } = context
  if (request.method === "POST") return createRegistration(context)
  const registrant = authenticateRegistrant(context)
  if (request.method === "PUT") return updateClient(context, registrant)
  if (request.method === "DELETE") return deleteRegistration(cx, registrant)
  return json(readRegistration(cx, registrant))
}

async function createRegistration(context: EndpointContext): Promise<Response> {
  const cx = await authenticateRegistration(context)
  const metadata = parseMetadata(cx, await parseBody(context.request))
  const { clientId, ...made } = await registerApplication(cx, metadata)
  return json(registrationResponse(cx, { ...made, clientId, metadata }), {
    status: 201,
    headers: noStore,
  })
}

/** RFC 7592 §2.2: absent members are reset to their defaults. */
async function updateClient(
  { cx, request }: EndpointContext,
  registrant: Registrant,
): Promise<Response> {
  const { appId, clientId, state, token } = registrant
  // Each update is stored permanently, and no administrator has approved the client.
  cx.allowance?.spend("registration")
  const members = await parseBody(request)
  validateServerMembers(cx, members, registrant)
  const metadata = parseMetadata(cx, members, state.oidc)
  const secret = await updateRegistration(cx, appId, metadata)
  return json(registrationResponse(cx, { appId, clientId, token, secret, metadata }))
}

/**
 * RFC 7592 §2.2: clients can't send members that the server sets; their ID and secret must match.
 */
function validateServerMembers(
  cx: Cx,
  members: Members,
  { appId, clientId, state }: Registrant,
): void {
  for (const name of serverMembers) {
    if (members[name] !== undefined) throw metadataError(name, "must be omitted in an update")
  }
  if (findString(members, "client_id") !== clientId) {
    throw metadataError("client_id", "must be the ID of this application")
  }
  const secret = findString(members, "client_secret")
  if (secret === undefined || isValidSecret(cx, appId, { state, secret })) return
  throw metadataError("client_secret", "must be the issued secret")
}

const serverMembers = [
  "registration_access_token",
  "registration_client_uri",
  "client_secret_expires_at",
  "client_id_issued_at",
] as const

/** RFC 7592 §2.3. */
async function deleteRegistration(cx: Cx, { appId }: Registrant): Promise<Response> {
  await removeApplication(cx, appId)
  return new Response(null, { status: 204, headers: noStore })
}

/** RFC 7592 §2.1: the registration. A secret is returned once and not stored. */
function readRegistration(cx: Cx, { appId, clientId, state, token }: Registrant): object {
  const { name, oidc, registration } = state
  const { jwks = [], scope = "" } = registration ?? {}
  const metadata = { name, oidc, jwks, scope }
  return registrationResponse(cx, { appId, clientId, token, secret: undefined, metadata })
}

type RegisteredClientData = {
  readonly appId: string
  readonly clientId: string
  readonly token: string
  readonly secret: string | undefined
  readonly metadata: ClientMetadata
}

/** RFC 7591 §3.2.1, RFC 7592 §3. Secrets don't expire. */
function registrationResponse(
  cx: Cx,
  { clientId, token, secret, metadata }: RegisteredClientData,
): object {
  const { issuer } = issuerOf(cx)
  const uri = `${issuer}${paths.registration}?client_id=${encodeURIComponent(clientId)}`
  const created = findClient(cx, clientId)?.state.registration?.created ?? cx.clock.now()
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(created / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: token,
    registration_client_uri: uri,
    ...formatMetadata(metadata),
  }
}

/**
 * RFC 7591 §3.2.2: the error for metadata that no application can have, with the message of the
 * fault.
 */
function metadataErrorOf(fault: Fault): Fault | OAuthError {
  const { code, id, message } = fault
  if (code !== "invalid_argument") return fault
  const error =
    id === "app.redirect_uris_invalid" ? "invalid_redirect_uri" : "invalid_client_metadata"
  return new OAuthError(error, message)
}
