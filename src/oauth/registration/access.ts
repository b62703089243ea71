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
import { apiCaller } from "../api-caller.ts"
import type { Asking } from "../endpoint/endpoint.ts"
import { OAuthError } from "../error.ts"
import { presentedIn } from "../token/presented.ts"

/** What creating an application in a project needs; an initial access token is worth no less. */
const permission = "project.app.write"

/**
 * Lets who may register an application in, as who they are. RFC 7591 §3: an initial access token is
 * an access token of ours whose holder may create applications in the project that holds these.
 * Whoever comes without is limited by address.
 */
export async function registrar({ cx, request, url }: Asking): Promise<Cx> {
  const { mode, projectId } = requireInstance(cx).oidc.registration
  if (!isProjectActive(cx, projectId)) throw closedError()
  const { headers, method } = request
  if (headers.get("authorization") === null && mode === "open") {
    cx.allowance?.spend("registration")
    return cx
  }
  const caller = await callerOf(cx, { headers, method, path: url.pathname })
  const on = { level: "project", id: projectId } as const
  const held = { ...stateReader(cx), caller }
  const isAllowed = caller.kind === "user" && permissionsOn(held, on, caller.userId).has(permission)
  if (isAllowed) return { ...cx, caller }
  throw new OAuthError("insufficient_scope", `registering needs the permission ${permission}`, {
    status: 403,
  })
}

/** Says in words why a token lets nobody in; a wrong one costs what a wrong client does. */
async function callerOf(cx: Cx, use: Parameters<typeof apiCaller>[1]) {
  try {
    return await apiCaller(cx, use)
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.code !== "unauthenticated") throw cause
    cx.allowance?.spend("client")
    throw new OAuthError("invalid_token", cause.message, { status: 401 })
  }
}

/** An application that has shown the token that it was registered with. */
export type Registrant = {
  readonly appId: string
  readonly clientId: string
  readonly state: OidcApp
  /** The token itself, which its answer repeats (RFC 7592 §3). */
  readonly token: string
}

/**
 * RFC 7592 §2: the application that a request is about; it must bring the token of its own
 * registration. One that is not there, or switched off, is told apart by nobody.
 */
export function registrantOf({ cx, request, url }: Asking): Registrant {
  const clientId = url.searchParams.get("client_id") ?? ""
  const token = presentedIn(request.headers.get("authorization"))?.token ?? ""
  const client = findClient(cx, clientId)
  const found = client?.state.kind === "oidc" ? { ...client, state: client.state } : undefined
  const isRight = isRegistrationToken(cx, found, token)
  if (isRight && found && isAppActive(cx, found.appId)) return { ...found, clientId, token }
  cx.allowance?.spend("client")
  const said = "the token is not that of this registration (any more)"
  throw new OAuthError("invalid_token", said, { status: 401 })
}

const closedError = () =>
  new OAuthError("temporarily_unavailable", "the project for these applications is closed", {
    status: 503,
  })
