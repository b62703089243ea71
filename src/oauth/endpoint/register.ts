import {
  type ClientMetadata,
  changeRegistration,
  findClient,
  isSecret,
  registerApplication,
  removeApplication,
} from "../../domain/app/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { challenge, nothingPresented } from "../challenge.ts"
import { OAuthError } from "../error.ts"
import { issuerOf, paths } from "../issuer.ts"
import { recordRefusal } from "../refusal.ts"
import { type Registrant, registrantOf, registrar } from "../registration/access.ts"
import { type Members, membersIn, metadataError, textIn } from "../registration/member.ts"
import { metadataFrom, metadataOf } from "../registration/metadata.ts"
import { json, noStore } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/**
 * RFC 7591 §3 and OpenID Connect Dynamic Client Registration §3: an application registers itself.
 * RFC 7592 §2: it reads, changes and removes that at the same address, with its client id.
 */
export const register: Endpoint = {
  methods: ["POST", "GET", "PUT", "DELETE"],
  anyOrigin: true,
  exists: (cx) => requireInstance(cx).oidc.registration.mode !== "off",
  answer: async (asking) => {
    try {
      return await answerTo(asking)
    } catch (cause) {
      const fault = cause instanceof Fault ? refusedMetadata(cause) : cause
      const isToken = fault instanceof OAuthError && (fault.status === 401 || fault.status === 403)
      if (!isToken) throw fault
      if (asking.request.headers.get("authorization") === null) return nothingPresented(realm)
      await recordRefusal(asking, fault)
      return challenge(asking.cx, { scheme: "bearer", realm }, fault)
    }
  },
}

const realm = "registration"

function answerTo(asking: Asking): Promise<Response> | Response {
  const { cx, request } = asking
  if (request.method === "POST") return add(asking)
  const registrant = registrantOf(asking)
  if (request.method === "PUT") return change(asking, registrant)
  if (request.method === "DELETE") return remove(cx, registrant)
  return json(registered(cx, registrant))
}

async function add(asking: Asking): Promise<Response> {
  const cx = await registrar(asking)
  const metadata = metadataOf(cx, await membersIn(asking.request))
  const { clientId, ...made } = await registerApplication(cx, metadata)
  return json(answerOf(cx, { ...made, clientId, metadata }), { status: 201, headers: noStore })
}

/** RFC 7592 §2.2: what is left out is as if it had never been said. */
async function change({ cx, request }: Asking, registrant: Registrant): Promise<Response> {
  const { appId, clientId, state, token } = registrant
  // Each change is kept for good, and nobody vouches for who makes them.
  cx.allowance?.spend("registration")
  const members = await membersIn(request)
  checkOwn(cx, members, registrant)
  const metadata = metadataOf(cx, members, state.oidc)
  const secret = await changeRegistration(cx, appId, metadata)
  return json(answerOf(cx, { appId, clientId, token, secret, metadata }))
}

/** RFC 7592 §2.2: what the server has said, no client says; its id and secret must be right. */
function checkOwn(cx: Cx, members: Members, { appId, clientId, state }: Registrant): void {
  for (const name of ours) {
    if (members[name] !== undefined) throw metadataError(name, "must be left out of a change")
  }
  if (textIn(members, "client_id") !== clientId) {
    throw metadataError("client_id", "must be that of this application")
  }
  const secret = textIn(members, "client_secret")
  if (secret === undefined || isSecret(cx, appId, { state, secret })) return
  throw metadataError("client_secret", "must be the one that was issued")
}

const ours = [
  "registration_access_token",
  "registration_client_uri",
  "client_secret_expires_at",
  "client_id_issued_at",
] as const

/** RFC 7592 §2.3. */
async function remove(cx: Cx, { appId }: Registrant): Promise<Response> {
  await removeApplication(cx, appId)
  return new Response(null, { status: 204, headers: noStore })
}

/** RFC 7592 §2.1: what is registered. A secret is shown once, and is not kept. */
function registered(cx: Cx, { appId, clientId, state, token }: Registrant): object {
  const { name, oidc, registration } = state
  const { jwks = [], scope = "" } = registration ?? {}
  const metadata = { name, oidc, jwks, scope }
  return answerOf(cx, { appId, clientId, token, secret: undefined, metadata })
}

type Answered = {
  readonly appId: string
  readonly clientId: string
  readonly token: string
  readonly secret: string | undefined
  readonly metadata: ClientMetadata
}

/** RFC 7591 §3.2.1, RFC 7592 §3. Secrets don't expire. */
function answerOf(cx: Cx, { clientId, token, secret, metadata }: Answered): object {
  const { issuer } = issuerOf(cx)
  const uri = `${issuer}${paths.registration}?client_id=${encodeURIComponent(clientId)}`
  const created = findClient(cx, clientId)?.state.registration?.created ?? cx.clock.now()
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(created / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: token,
    registration_client_uri: uri,
    ...metadataFrom(metadata),
  }
}

/** RFC 7591 §3.2.2: what no application may be, in the words of those who say so. */
function refusedMetadata(fault: Fault): Fault | OAuthError {
  const { code, id, message } = fault
  if (code !== "invalid_argument") return fault
  const error =
    id === "app.redirect_uris_invalid" ? "invalid_redirect_uri" : "invalid_client_metadata"
  return new OAuthError(error, message)
}
