import type { Commands } from "../../boot/control.ts"
import type { Arrived } from "../../boot/doctor/address.ts"
import { arrivedRequest, type Condition } from "../../boot/doctor/doctor.ts"
import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { signingAlgorithms } from "../../domain/key/index.ts"
import { activeProvider } from "../../domain/message-provider/index.ts"
import { isOnlyOrg } from "../../domain/org/index.ts"
import { blockedExecutions } from "../../domain/target/index.ts"
import { whenOwnerless } from "../../domain/user/index.ts"
import { sharedEmails, verifiedAtHomeOnly } from "../../domain/user-lookup/index.ts"
import { originOf } from "../../http/origin.ts"
import { areaOf } from "../../http/route.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Peer } from "../../kernel/net/address.ts"
import { selfCheckIn } from "../../protocol/self-check/self-check.ts"
import type { Cx, Node } from "../../store/index.ts"
import type { Untaken } from "../background/audit-collector.ts"
import { hostsBeyond } from "../edge/hosts.ts"
import type { ServerServices } from "../services.ts"

/** Below it whoever examines the server sends one request, to a path that nobody can guess. */
const prefix = "/debug/doctor/"

/** What the command line asks a running server for when it examines it. */
export function doctorOf(services: ServerServices, { untaken, described }: Asked = {}) {
  const came = lru<Arrived | "awaited">(8)
  const commands: Commands = {
    condition: async () => ({
      ...(await conditionOf(services)),
      ...toldBy(services, untaken?.()),
      ...described?.(),
    }),
    "await-request": async () => {
      const path = `${prefix}${randomToken(services.random)}`
      came.set(path, "awaited")
      return { path }
    },
    arrived: async (input) => {
      const { path } = arrivedRequest.parse(input)
      const found = came.get(path)
      came.delete(path)
      return found === "awaited" ? null : (found ?? null)
    },
  }
  /** Whether that was awaited. */
  const note = ({ path, ...arrived }: Came): boolean => {
    const isAwaited = came.get(path) === "awaited"
    if (isAwaited) came.set(path, arrived)
    return isAwaited
  }
  return { commands, came: note }
}

/** Sees what the server was told to wait for, whatever host that comes to. */
export const doctorRoutes = (
  services: CameServices,
  awaited: (came: Came) => boolean | Promise<boolean>,
) =>
  areaOf("health", {
    [`${prefix}*`]: {
      anywhere: async ({ request, peer }) => {
        const came = cameBy(services, request, peer)
        return came && (await awaited(came)) ? seen() : undefined
      },
    },
  })

type CameServices = Pick<ServerServices, "ids" | "isProxy" | "secrets" | "clock">

/** The request that somebody waits for, as it came. */
export type Came = Arrived & { readonly path: string }

/** As long as what is made for it: to ask for any other costs no more than any other path. */
const awaitable = new RegExp(`^${prefix}[\\w-]{43}$`)

/** What came to a path that may be awaited; undefined for all others. */
export function cameBy(services: CameServices, request: Request, peer: Peer): Came | undefined {
  if (!request.url.includes(prefix)) return undefined
  const path = URL.parse(request.url)?.pathname ?? ""
  if (!awaitable.test(path)) return undefined
  const { host, isRelayed = false } = originOf(services, request, peer)
  const isSelfCheck = selfCheckIn(services, request.headers) !== undefined
  return { path, host, isRelayed, isSelfCheck, peer: peer() }
}

/** Answers it. */
const seen = () => new Response(null, { status: 204, headers: { "cache-control": "no-store" } })

/** What works beside the server, where the configuration wants that, and tells of itself. */
type Asked = {
  readonly untaken?: () => readonly Untaken[] | undefined
  readonly described?: () => Partial<Condition> | undefined
}

/** Nothing where another node works. */
const toldBy = ({ lead }: ServerServices, untaken?: readonly Untaken[]): Partial<Condition> =>
  untaken && lead.holds() ? { untaken: [...untaken] } : {}

async function conditionOf(services: ServerServices): Promise<Condition> {
  const { store, call, notReady } = services
  return {
    notReady: notReady() ?? null,
    ...(store.node && (await nodesOf(store.node))),
    newest: store.newest() || null,
    hostsBeyond: [...hostsBeyond(services)].slice(0, 5),
    instances: await Promise.all(
      instanceIds(store).map(async (id) => {
        const cx = call(id, "doctor")
        const { publicUrl, oidc } = requireInstance(cx)
        const active: readonly string[] = signingAlgorithms(cx)
        const used = [oidc.idTokenAlgorithm, oidc.accessTokenAlgorithm]
        return {
          id,
          publicUrl,
          hasMail: activeProvider(cx, "email") !== undefined,
          keyless: used.filter((algorithm) => !active.includes(algorithm)),
          ownerless: (await whenOwnerless(cx)) ?? null,
          unconfirmed: await unconfirmedOf(cx),
          sharedEmails: sharedEmails(cx, 5).map((ids) => [...ids]),
          blockedExecutions: [...blockedExecutions(cx, 5)],
        }
      }),
    ),
  }
}

/** Counted up to a limit, since each is looked at; none where there is only one organization. */
async function unconfirmedOf(cx: Cx): Promise<number> {
  if (isOnlyOrg(cx)) return 0
  let count = 0
  for await (const _ of verifiedAtHomeOnly(cx)) if (++count >= unconfirmedMax) break
  return count
}
const unconfirmedMax = 1000

/** Nothing where the log can't be asked: that it can't is told already. */
async function nodesOf(node: Node): Promise<Pick<Condition, "nodes">> {
  try {
    return { nodes: [...(await node.nodes())] }
  } catch (cause) {
    if (cause instanceof Fault) return {}
    throw cause
  }
}
