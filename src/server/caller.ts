import { instanceIds, requireInstance } from "../domain/instance/index.ts"
import { blockedError, countRequest, isBlocked } from "../domain/quota/index.ts"
import { servedAt } from "../http/host.ts"
import type { Origin } from "../http/origin.ts"
import type { From } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { systemCaller, type Use } from "../oauth/index.ts"
import { languagesOf } from "../protocol/accept.ts"
import type { Cx } from "../store/index.ts"
import { confirmed } from "./node/lead.ts"
import type { ServerServices } from "./services.ts"

/** A call of nobody on the instance of the request's host; undefined where there is none. */
export function anonymousCall(
  services: ServerServices,
  headers: Headers,
  origin: Origin,
): Cx | undefined {
  const served = servedAt(services, origin.host)
  return served && callOn(services, served.instance, { headers, origin })
}

/** A call of the process itself on the instance of a host; undefined where there is none. */
export function callAt(services: ServerServices, host: string): Cx | undefined {
  const served = servedAt(services, host)
  const cx = served && services.call(served.instance, "published")
  return cx && !isBlocked(cx) ? cx : undefined
}

function callOn(
  services: ServerServices,
  instance: string,
  { headers, origin }: { readonly headers: Headers; readonly origin: Origin },
): Cx {
  const { clock, ids, random, secrets, outside, warn, noteStranger, store, limits } = services
  const orgId = headers.get("x-core-orgid")
  // Nearly all come without: a call of one shape costs half.
  const cx = {
    clock,
    ids,
    random,
    secrets,
    outside,
    warn,
    noteStranger,
    store,
    instance,
    caller: { kind: "anonymous" },
    written: {},
    // Most requests spend nothing.
    get allowance() {
      return limits(origin)
    },
    get requestId() {
      return origin.requestId
    },
    // Read by what is noted, which most requests don't come to.
    get from() {
      return fromOf(headers, origin)
    },
    // Read when a page is shown: no program is asked for its languages.
    get languages() {
      return languagesOf(headers.get("accept-language"))
    },
  } as const
  return orgId ? Object.defineProperty(cx, "orgId", { value: orgId, enumerable: true }) : cx
}

/** What a request tells of the browser that sent it, read by who keeps it. */
export const fromOf = (
  headers: Headers,
  origin: Pick<Origin, "address" | "addressSource">,
): From => ({
  get address() {
    return origin.address
  },
  get addressSource() {
    return origin.addressSource ?? "connection"
  },
  get userAgent() {
    return headers.get("user-agent") ?? ""
  },
})

/**
 * Who calls the management interface: the bearer of a token with our own project in its audience,
 * or nobody. Faults with `unauthenticated` for any other token, and for a host we don't serve.
 */
export const authenticateWith =
  (services: ServerServices, tokenCaller: (cx: Cx, use: Use) => Promise<Cx["caller"]>) =>
  async (headers: Headers, { requestId, address, target }: Knock): Promise<Cx> => {
    await confirmed(services.store, { headers })
    const host = headers.get("host") ?? ""
    const origin = { host, peer: address, address, requestId }
    const cx = anonymousCall(services, headers, origin)
    const authorization = headers.get("authorization")
    const system = authorization && (await systemCallerIn(services, cx, authorization))
    if (system) return { ...(cx ?? callOn(services, "", { headers, origin })), caller: system }
    if (!cx) {
      if (authorization !== null) throw unknownHost(services, origin.host)
      return callOn(services, "", { headers, origin })
    }
    if (isBlocked(cx)) throw blockedError()
    if (authorization === null) return cx
    const caller = await tokenCaller(cx, { headers, ...target })
    await countRequest(cx)
    return asCalledBy(cx, caller)
  }

/**
 * The call as somebody's. Field by field, with what is made when it is read made now: operations
 * copy their call again and again, and each copy of a field that must be asked costs ten others.
 */
const asCalledBy = (cx: Cx, caller: Cx["caller"]): Cx => ({
  clock: cx.clock,
  ids: cx.ids,
  random: cx.random,
  secrets: cx.secrets,
  outside: cx.outside,
  warn: cx.warn,
  noteStranger: cx.noteStranger,
  store: cx.store,
  instance: cx.instance,
  caller,
  written: cx.written,
  allowance: cx.allowance,
  requestId: cx.requestId,
  from: cx.from,
  languages: cx.languages,
  orgId: cx.orgId,
})

/** Who manages instances; they may also call a host that is no instance's, as there is none yet. */
async function systemCallerIn(
  { systemUsers: users, publicUrl, clock }: ServerServices,
  cx: Cx | undefined,
  authorization: string,
): Promise<Cx["caller"] | undefined> {
  if (users.length === 0) return undefined
  const addresses = [cx && requireInstance(cx).publicUrl, publicUrl].filter(
    (each) => each !== undefined,
  )
  return systemCaller(authorization, { users, addresses, now: clock.now() })
}

/** A call of an operation, as it came in. */
type Knock = {
  readonly requestId: string
  readonly address: string
  readonly target: { readonly method: string; readonly path: string }
}

/** RFC 9110 §15.5.20, in words: the request went to the wrong place. */
function unknownHost({ store }: ServerServices, host: string): Fault {
  if (instanceIds(store).length === 0) {
    return new Fault(
      "failed_precondition",
      "instance.not_set_up",
      "nothing is set up here yet; open the set-up link that the server printed",
    )
  }
  return new Fault(
    "unauthenticated",
    "instance.unknown_host",
    `nothing is served at ${host}; use the configured public address, and have a proxy keep Host`,
  )
}
