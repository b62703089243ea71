import type { Commands } from "../../boot/control.ts"
import type { ObservedRequest } from "../../boot/doctor/address.ts"
import { arrivedRequest, type ServerCondition } from "../../boot/doctor/doctor.ts"
import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { signingAlgorithms } from "../../domain/key/index.ts"
import { activeProvider } from "../../domain/message-provider/index.ts"
import { isOnlyOrg } from "../../domain/org/index.ts"
import { blockedExecutions } from "../../domain/target/index.ts"
import { findOwnerlessTime } from "../../domain/user/index.ts"
import { iterateOrgVerified, listSharedEmails } from "../../domain/user-lookup/index.ts"
import { originOf } from "../../http/origin.ts"
import { createArea } from "../../http/route.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Peer } from "../../kernel/net/address.ts"
import { findSelfCheckId } from "../../protocol/self-check/self-check.ts"
import type { Cx, Node } from "../../store/index.ts"
import type { UncollectedInstance } from "../background/audit-collector.ts"
import { hostsBeyond } from "../edge/hosts.ts"
import type { ServerServices } from "../services.ts"

/** A self-check sends one request to an unguessable path below this prefix. */
const prefix = "/debug/doctor/"

/** The commands of a running server for its self-check. */
export function createDoctorControl(
  services: ServerServices,
  { untaken, described }: ConditionSources = {},
) {
  const observed = lru<ObservedRequest | "awaited">(8)
  const commands: Commands = {
    condition: async () => ({
      ...(await readCondition(services)),
      ...uncollectedOf(services, untaken?.()),
      ...described?.(),
    }),
    "await-request": async () => {
      const path = `${prefix}${randomToken(services.random)}`
      observed.set(path, "awaited")
      return { path }
    },
    arrived: async (input) => {
      const { path } = arrivedRequest.parse(input)
      const found = observed.get(path)
      observed.delete(path)
      return found === "awaited" ? null : (found ?? null)
    },
  }
  /** Returns whether the request was awaited. */
  const note = ({ path, ...arrived }: ObservedDoctorRequest): boolean => {
    const isAwaited = observed.get(path) === "awaited"
    if (isAwaited) observed.set(path, arrived)
    return isAwaited
  }
  return { commands, came: note }
}

/** Observes the awaited request, regardless of its host. */
export const doctorRoutes = (
  services: DoctorRouteServices,
  awaited: (observed: ObservedDoctorRequest) => boolean | Promise<boolean>,
) =>
  createArea("health", {
    [`${prefix}*`]: {
      anyHost: async ({ request, peer }) => {
        const observed = observe(services, request, peer)
        return observed && (await awaited(observed)) ? noContentResponse() : undefined
      },
    },
  })

type DoctorRouteServices = Pick<ServerServices, "ids" | "isProxy" | "secrets" | "clock">

/** An observed request. */
export type ObservedDoctorRequest = ObservedRequest & { readonly path: string }

/** The length of generated paths; other requests are not examined. */
const awaitablePath = new RegExp(`^${prefix}[\\w-]{43}$`)

/** The observed request if the path can be awaited; undefined otherwise. */
export function observe(
  services: DoctorRouteServices,
  request: Request,
  peer: Peer,
): ObservedDoctorRequest | undefined {
  if (!request.url.includes(prefix)) return undefined
  const path = URL.parse(request.url)?.pathname ?? ""
  if (!awaitablePath.test(path)) return undefined
  const { host, isRelayed = false } = originOf(services, request, peer)
  const isSelfCheck = findSelfCheckId(services, request.headers) !== undefined
  return { path, host, isRelayed, isSelfCheck, peer: peer() }
}

/** The response to an observed request. */
const noContentResponse = () =>
  new Response(null, { status: 204, headers: { "cache-control": "no-store" } })

/** The optional background work that reports its condition. */
type ConditionSources = {
  readonly untaken?: () => readonly UncollectedInstance[] | undefined
  readonly described?: () => Partial<ServerCondition> | undefined
}

/** Empty on nodes that are not the leader. */
const uncollectedOf = (
  { lead }: ServerServices,
  untaken?: readonly UncollectedInstance[],
): Partial<ServerCondition> => (untaken && lead.holds() ? { untaken: [...untaken] } : {})

async function readCondition(services: ServerServices): Promise<ServerCondition> {
  const { store, call, notReady } = services
  return {
    notReady: notReady() ?? null,
    ...(store.node && (await readNodes(store.node))),
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
          ownerless: (await findOwnerlessTime(cx)) ?? null,
          unconfirmed: await countUnconfirmed(cx),
          sharedEmails: listSharedEmails(cx, 5).map((ids) => [...ids]),
          blockedExecutions: [...blockedExecutions(cx, 5)],
        }
      }),
    ),
  }
}

/** Counted up to a limit because each user is checked; 0 if there is only one organization. */
async function countUnconfirmed(cx: Cx): Promise<number> {
  if (isOnlyOrg(cx)) return 0
  let count = 0
  for await (const _ of iterateOrgVerified(cx)) if (++count >= unconfirmedMax) break
  return count
}
const unconfirmedMax = 1000

/** Empty if the log can't be queried, which is reported separately. */
async function readNodes(node: Node): Promise<Pick<ServerCondition, "nodes">> {
  try {
    return { nodes: [...(await node.nodes())] }
  } catch (cause) {
    if (cause instanceof Fault) return {}
    throw cause
  }
}
