import {
  backChannelReactor,
  findClient,
  formatClientFailure,
  isAppActive,
  isPrivateNetworkAllowed,
  type OidcConfig,
} from "../../domain/app/index.ts"
import { getSigner } from "../../domain/key/index.ts"
import { session } from "../../domain/session/index.ts"
import { createBreaker } from "../../kernel/breaker.ts"
import { errorText } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Outbound, OutboundRequest } from "../../kernel/port/outbound.ts"
import type { CallFactory, Cx, Reactor } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { idTokenAlgorithm } from "../token/lifetime.ts"

/** The end of a session that a client received tokens in. */
type LogoutNotification = {
  readonly sessionId: string
  readonly userId: string
  readonly clientId: string
}

/**
 * OpenID Connect Back-Channel Logout §2.5: notifies each application that received tokens in an
 * ended session, at least once. A failed notification is retried and delays no other application.
 */
export function backChannelLogout(call: CallFactory, outbound: Outbound): Reactor {
  const notified = lru<true>(notifiedMax)
  const breaker = createBreaker()
  const tell = async (cx: Cx, notification: LogoutNotification) => {
    const client = findRecipient(cx, notification.clientId)
    // A retry includes only applications that were not notified before.
    const key = `${cx.instance}/${tokenIdOf(notification)}`
    if (!client || notified.get(key)) return
    const token = await createLogoutToken(cx, notification, client.clockSkewSeconds)
    const target = `${cx.instance}/${notification.clientId}`
    // The page of the application shows the reason, also while retries are suspended.
    const rest = breaker.resting(cx, target)
    if (rest) throw new Error(rest.error)
    await breaker(cx, target, () =>
      sendToken(outbound, token, {
        url: client.backChannelLogoutUri,
        isPrivate: isPrivateNetworkAllowed(cx, client),
      }),
    )
    notified.set(key, true)
  }
  return {
    name: backChannelReactor,
    from: "now",
    parallel: 64,
    on: {
      "session.terminated": async ({ instance, id: sessionId }) => {
        const cx = call(instance, backChannelReactor)
        const { userId, clients } = cx.store.state(cx, session, sessionId)
        const tries = clients.map((clientId) => tell(cx, { sessionId, userId, clientId }))
        throwIfAnyFailed(clients, await Promise.allSettled(tries))
      },
    },
  }
}

const notifiedMax = 1000

function findRecipient(cx: Cx, clientId: string): OidcConfig | undefined {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return undefined
  return client.state.oidc.backChannelLogoutUri === "" ? undefined : client.state.oidc
}

/** §2.5: the same for every retry, so that an application recognizes a repetition. */
const tokenIdOf = ({ sessionId, clientId }: LogoutNotification): string =>
  `${sessionId}-${clientId}`

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

/** §4 recommends two minutes; a later retry uses a new token. */
const lifetimeSeconds = 120

/** §2.4: signature and issuer as in an ID token, but no nonce, so that it can't be used as one. */
async function createLogoutToken(
  cx: Cx,
  notification: LogoutNotification,
  skew: number,
): Promise<string> {
  const { sessionId, userId, clientId } = notification
  const now = Math.floor(cx.clock.now() / 1000)
  const claims = {
    iss: issuerOf(cx).issuer,
    sub: userId,
    aud: clientId,
    iat: now - skew,
    exp: now + lifetimeSeconds + skew,
    jti: tokenIdOf(notification),
    events: { [logoutEvent]: {} },
    sid: sessionId,
  }
  return getSigner(cx, idTokenAlgorithm(cx, clientId)).sign(claims, "logout+jwt")
}

/** §2.5 and §2.8: the application responds with 200; 204 is accepted, too. */
async function sendToken(
  outbound: Outbound,
  token: string,
  to: Pick<OutboundRequest, "url" | "isPrivate">,
): Promise<void> {
  const { status } = await outbound({
    ...to,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `${new URLSearchParams({ logout_token: token })}`,
  })
  if (status !== 200 && status !== 204) throw new Error(`the response had the status ${status}`)
}

function throwIfAnyFailed(
  clients: readonly string[],
  results: readonly PromiseSettledResult<void>[],
): void {
  const failures = results.flatMap((result, at) =>
    result.status === "rejected"
      ? [formatClientFailure(clients[at] ?? "", reasonOf(result.reason))]
      : [],
  )
  if (failures.length === 0) return
  throw new Error(`could not notify ${failures.length} of ${clients.length}${failures.join("")}`)
}

const reasonOf = (cause: unknown): string => errorText(cause)
