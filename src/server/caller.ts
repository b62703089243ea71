import { instanceIds, requireInstance } from "../domain/instance/index.ts"
import { blockedError, countRequest, isBlocked } from "../domain/quota/index.ts"
import { findInstanceByHost } from "../http/host.ts"
import type { RequestOrigin } from "../http/origin.ts"
import type { RequestSource } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { authenticateSystemUser, type ProofRequest } from "../oauth/index.ts"
import { parseLanguages } from "../protocol/accept.ts"
import type { Cx } from "../store/index.ts"
import { waitForCurrentLog } from "./node/leadership.ts"
import type { ServerServices } from "./services.ts"

/** An anonymous call on the instance of the request's host; undefined if there is none. */
export function createAnonymousCall(
  services: ServerServices,
  headers: Headers,
  origin: RequestOrigin,
): Cx | undefined {
  const served = findInstanceByHost(services, origin.host)
  return served && createCall(services, served.instance, { headers, origin })
}

/** A call of the process itself on the instance of a host; undefined if there is none. */
export function createSystemCall(services: ServerServices, host: string): Cx | undefined {
  const served = findInstanceByHost(services, host)
  const cx = served && services.call(served.instance, "published")
  return cx && !isBlocked(cx) ? cx : undefined
}

function createCall(
  services: ServerServices,
  instance: string,
  { headers, origin }: { readonly headers: Headers; readonly origin: RequestOrigin },
): Cx {
  const { clock, ids, random, secrets, outside, warn, noteStranger, store, limits } = services
  const orgId = headers.get("x-core-orgid")
  // Nearly all calls have no instance parameter; objects of one shape are twice as fast.
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
    // Computed on demand, because most requests don't need it.
    get allowance() {
      return limits(origin)
    },
    get requestId() {
      return origin.requestId
    },
    // Computed on demand, because most requests record nothing.
    get from() {
      return clientInfoOf(headers, origin)
    },
    // Computed when a page is rendered; API clients don't need it.
    get languages() {
      return parseLanguages(headers.get("accept-language"))
    },
  } as const
  return orgId ? Object.defineProperty(cx, "orgId", { value: orgId, enumerable: true }) : cx
}

/** Data about the browser that sent a request, evaluated on demand. */
export const clientInfoOf = (
  headers: Headers,
  origin: Pick<RequestOrigin, "address" | "addressSource">,
): RequestSource => ({
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
 * Returns a function that authenticates callers of the management API: the bearer of a token with
 * the instance's own project in its audience, or an anonymous caller. Throws `unauthenticated` for
 * all other tokens, and for an unknown host.
 */
export const createAuthenticate =
  (services: ServerServices, tokenCaller: (cx: Cx, use: ProofRequest) => Promise<Cx["caller"]>) =>
  async (headers: Headers, { requestId, address, target }: ApiRequest): Promise<Cx> => {
    await waitForCurrentLog(services.store, { headers })
    const host = headers.get("host") ?? ""
    const origin = { host, peer: address, address, requestId }
    const cx = createAnonymousCall(services, headers, origin)
    const authorization = headers.get("authorization")
    const system = authorization && (await findSystemCaller(services, cx, authorization))
    if (system) return { ...(cx ?? createCall(services, "", { headers, origin })), caller: system }
    if (!cx) {
      if (authorization !== null) throw unknownHost(services, origin.host)
      return createCall(services, "", { headers, origin })
    }
    if (isBlocked(cx)) throw blockedError()
    if (authorization === null) return cx
    const caller = await tokenCaller(cx, { headers, ...target })
    await countRequest(cx)
    return withCaller(cx, caller)
  }

/**
 * The call with another caller. Fields are copied one by one and lazy ones are evaluated:
 * operations copy their call repeatedly, and copying a getter is ten times as expensive.
 */
const withCaller = (cx: Cx, caller: Cx["caller"]): Cx => ({
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

/** A system user, who can also call a host without an instance, because there may be none yet. */
async function findSystemCaller(
  { systemUsers: users, publicUrl, clock }: ServerServices,
  cx: Cx | undefined,
  authorization: string,
): Promise<Cx["caller"] | undefined> {
  if (users.length === 0) return undefined
  const addresses = [cx && requireInstance(cx).publicUrl, publicUrl].filter(
    (each) => each !== undefined,
  )
  return authenticateSystemUser(authorization, { users, addresses, now: clock.now() })
}

/** The request data of an API call. */
type ApiRequest = {
  readonly requestId: string
  readonly address: string
  readonly target: { readonly method: string; readonly path: string }
}

/** The fault for RFC 9110 §15.5.20: the request was sent to the wrong host. */
function unknownHost({ store }: ServerServices, host: string): Fault {
  if (instanceIds(store).length === 0) {
    return new Fault(
      "failed_precondition",
      "instance.not_set_up",
      "no instance is set up yet; open the setup link that the server printed",
    )
  }
  return new Fault(
    "unauthenticated",
    "instance.unknown_host",
    `no instance at ${host}; use the configured public URL, and make the proxy keep the ` +
      "Host header",
  )
}
