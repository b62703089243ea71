import {
  findClient,
  isAppActive,
  isRegistrationToken,
  type OidcApp,
} from "../../domain/app/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { permissionsOn, stateReader } from "../../domain/member/index.ts"
import { isProjectActive } from "../../domain/project/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { authenticateApiCaller } from "../api-caller.ts"
import type { EndpointContext } from "../endpoint/endpoint.ts"
import { OAuthError } from "../error.ts"
import { parseAuthorization } from "../token/presented.ts"

/**
 * The permission for creating an application in a project; an initial access token requires the
 * same.
 */
const permission = "project.app.write"

/**
 * Authenticates a client registration. RFC 7591 §3: an initial access token is an access token
 * whose user has the permission to create applications in the project for registered ones.
 * Registrations without a token are limited by IP address.
 */
export async function authenticateRegistration({ cx, request, url }: EndpointContext): Promise<Cx> {
  const { mode, projectId } = requireInstance(cx).oidc.registration
  if (!isProjectActive(cx, projectId)) throw projectInactiveError()
  const { headers, method } = request
  if (headers.get("authorization") === null && mode === "open") {
    cx.allowance?.spend("registration")
    return cx
  }
  const caller = await authenticateCaller(cx, { headers, method, path: url.pathname })
  const on = { level: "project", id: projectId } as const
  const permissionReader = { ...stateReader(cx), caller }
  const isAllowed =
    caller.kind === "user" && permissionsOn(permissionReader, on, caller.userId).has(permission)
  if (isAllowed) return { ...cx, caller }
  throw new OAuthError("insufficient_scope", `registration requires the permission ${permission}`, {
    status: 403,
  })
}

/**
 * Converts faults to protocol errors; an invalid token counts toward the limit like failed client
 * authentication.
 */
async function authenticateCaller(cx: Cx, use: Parameters<typeof authenticateApiCaller>[1]) {
  try {
    return await authenticateApiCaller(cx, use)
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.code !== "unauthenticated") throw cause
    cx.allowance?.spend("client")
    throw new OAuthError("invalid_token", cause.message, { status: 401 })
  }
}

/** An application that presented its registration access token. */
export type Registrant = {
  readonly appId: string
  readonly clientId: string
  readonly state: OidcApp
  /** The token itself, which the response repeats (RFC 7592 §3). */
  readonly token: string
}

/**
 * RFC 7592 §2: the application of a request, which must contain its registration access token. The
 * error is the same if the application does not exist or is deactivated.
 */
export function authenticateRegistrant({ cx, request, url }: EndpointContext): Registrant {
  const clientId = url.searchParams.get("client_id") ?? ""
  const token = parseAuthorization(request.headers.get("authorization"))?.token ?? ""
  const client = findClient(cx, clientId)
  const found = client?.state.kind === "oidc" ? { ...client, state: client.state } : undefined
  const isRight = isRegistrationToken(cx, found, token)
  if (isRight && found && isAppActive(cx, found.appId)) return { ...found, clientId, token }
  cx.allowance?.spend("client")
  const message = "the registration access token is invalid"
  throw new OAuthError("invalid_token", message, { status: 401 })
}

const projectInactiveError = () =>
  new OAuthError(
    "temporarily_unavailable",
    "the project for registered applications is not active",
    {
      status: 503,
    },
  )
