import {
  backChannelReactor,
  failureOfClient,
  findClient,
  isAppActive,
  isPrivateAllowed,
  type OidcConfig,
} from "../../domain/app/index.ts"
import { signer } from "../../domain/key/index.ts"
import { session } from "../../domain/session/index.ts"
import { breakerOf } from "../../kernel/breaker.ts"
import { reasonText } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Outbound, OutboundRequest } from "../../kernel/port/outbound.ts"
import type { Calls, Cx, Reactor } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { idTokenAlgorithm } from "../token/lifetime.ts"

/** That the session of a person with a client has ended. */
type Notice = { readonly sessionId: string; readonly userId: string; readonly clientId: string }

/**
 * OpenID Connect Back-Channel Logout §2.5: tells each application that got tokens through a session
 * that it has ended, at least once. One that does not answer is tried again, and holds up no other.
 */
export function backChannelLogout(call: Calls, outbound: Outbound): Reactor {
  const told = lru<true>(toldMax)
  const breaker = breakerOf()
  const tell = async (cx: Cx, notice: Notice) => {
    const client = listener(cx, notice.clientId)
    // A further try is for those that the tries before did not reach.
    const key = `${cx.instance}/${jtiOf(notice)}`
    if (!client || told.get(key)) return
    const token = await logoutToken(cx, notice, client.clockSkewSeconds)
    const target = `${cx.instance}/${notice.clientId}`
    // The page of the application shows why, also while it is left alone.
    const rest = breaker.resting(cx, target)
    if (rest) throw new Error(rest.error)
    await breaker(cx, target, () =>
      send(outbound, token, {
        url: client.backChannelLogoutUri,
        isPrivate: isPrivateAllowed(cx, client),
      }),
    )
    told.set(key, true)
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
        mustAllBeTold(clients, await Promise.allSettled(tries))
      },
    },
  }
}

const toldMax = 1000

function listener(cx: Cx, clientId: string): OidcConfig | undefined {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return undefined
  return client.state.oidc.backChannelLogoutUri === "" ? undefined : client.state.oidc
}

/** §2.5: the same for every try, so that an application knows what it has seen. */
const jtiOf = ({ sessionId, clientId }: Notice): string => `${sessionId}-${clientId}`

const event = "http://schemas.openid.net/event/backchannel-logout"

/** §4 advises two minutes: an application that is told later is told by a new token. */
const lifetimeSeconds = 120

/** §2.4: an id_token's signature and issuer; never a nonce, so that it is no id_token. */
async function logoutToken(cx: Cx, notice: Notice, skew: number): Promise<string> {
  const { sessionId, userId, clientId } = notice
  const now = Math.floor(cx.clock.now() / 1000)
  const claims = {
    iss: issuerOf(cx).issuer,
    sub: userId,
    aud: clientId,
    iat: now - skew,
    exp: now + lifetimeSeconds + skew,
    jti: jtiOf(notice),
    events: { [event]: {} },
    sid: sessionId,
  }
  return signer(cx, idTokenAlgorithm(cx, clientId)).sign(claims, "logout+jwt")
}

/** §2.5 and §2.8: the application says 200, and 204 will do. */
async function send(
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
  if (status !== 200 && status !== 204) throw new Error(`it answered with status ${status}`)
}

function mustAllBeTold(
  clients: readonly string[],
  results: readonly PromiseSettledResult<void>[],
): void {
  const failures = results.flatMap((result, at) =>
    result.status === "rejected"
      ? [failureOfClient(clients[at] ?? "", reasonOf(result.reason))]
      : [],
  )
  if (failures.length === 0) return
  throw new Error(`could not tell ${failures.length} of ${clients.length}${failures.join("")}`)
}

const reasonOf = (cause: unknown): string => reasonText(cause)
