import type { Logger } from "@logtape/logtape"
import { openSockets, type Sockets } from "../../boot/system/sockets.ts"
import type { Clock } from "../../kernel/clock.ts"
import { errorText } from "../../kernel/fault.ts"
import { isLoopback, networksOf } from "../../kernel/net/address.ts"
import { startRepeating } from "../background/repeat.ts"

const intervalMs = 1000
const reportIntervalMs = 60_000

/**
 * The share of all descriptors that the connections of one address can use, and the absolute
 * maximum.
 */
const [partOfOne, mostOfAny] = [1 / 4, 16_384]
/**
 * The shares of used descriptors at which closing connections starts and stops; the rest is for
 * files and responses.
 */
const [fullPart, enoughPart] = [0.8, 0.7]
/** The connections that every address keeps, about as many as one browser opens. */
const keptPerAddress = 8

/** The number of descriptors to examine before other tasks run. */
const descriptorsPerTurn = 4096

type Parts = {
  readonly clock: Clock
  readonly log: Pick<Logger, "warning">
  readonly isProxy: (address: string) => boolean
}

/** Limits the connections of each address to the listeners of this process. */
export async function limitConnections(
  { clock, log, isProxy }: Parts,
  listeners: readonly { readonly port: number }[],
): Promise<{ readonly stop: () => Promise<void> }> {
  const sockets = await openSockets().catch((cause: unknown) => {
    log.warning("connections are not limited by address: {cause}", { cause: errorText(cause) })
    return undefined
  })
  if (!sockets) return { stop: async () => undefined }
  const ports = listeners.map(({ port }) => port)
  let reportedAt = Number.NEGATIVE_INFINITY
  return startRepeating(clock, intervalMs, async () => {
    const ended = await closeExcess(sockets, (peer, port) => {
      return ports.includes(port) && !isLoopback(peer) && !isProxy(peer)
    })
    if (ended.length === 0 || clock.now() - reportedAt < reportIntervalMs) return
    reportedAt = clock.now()
    for (const { network, held, count } of ended.slice(0, reportedMax)) {
      log.warning("ended {count} connections of {network}, which had {held} of {max} open files", {
        count,
        network,
        held,
        max: sockets.max(),
      })
    }
  })
}

/** The number of addresses named in the log at a time, those with the most connections first. */
const reportedMax = 5

type ClosedConnections = { readonly network: string; readonly held: number; readonly count: number }

/**
 * Closes the connections of an address above its share. If nearly all descriptors are used, also
 * closes connections of the addresses with the most, until there is room. The runtime accepts
 * connections on its own: without free descriptors it retries endlessly, and no one can connect.
 */
export async function closeExcess(
  sockets: Sockets,
  isCounted: (peer: string, port: number) => boolean,
): Promise<readonly ClosedConnections[]> {
  const max = sockets.max()
  const mostOfOne = Math.max(keptPerAddress, Math.min(mostOfAny, Math.floor(max * partOfOne)))
  const count = sockets.count()
  if (count <= mostOfOne) return []
  const all = await groupByNetwork(sockets, isCounted)
  const expired = count - max * fullPart
  const need = expired > 0 ? count - max * enoughPart : 0
  const allowed = Math.min(
    mostOfOne,
    allowedPerAddress(
      [...all.values()].map((each) => each.length),
      need,
    ),
  )
  return [...all]
    .filter(([, descriptors]) => descriptors.length > allowed)
    .map(([network, descriptors]) => {
      // The last descriptors are mostly the newest connections.
      const excess = descriptors.slice(allowed)
      // A descriptor can have become another connection in the meantime.
      const stillOpen = excess.filter((each) => networkAt(sockets, each, isCounted) === network)
      for (const descriptor of stillOpen) sockets.end(descriptor)
      return { network, held: descriptors.length, count: stillOpen.length }
    })
    .filter((each) => each.count > 0)
    .sort((one, other) => other.held - one.held)
}

/**
 * How many connections each address can keep so that `need` are closed, but never below the
 * minimum.
 */
function allowedPerAddress(counts: readonly number[], need: number): number {
  if (need <= 0) return Number.POSITIVE_INFINITY
  let [low, high] = [keptPerAddress, Math.max(keptPerAddress, ...counts)]
  const endedAt = (allowed: number) =>
    counts.reduce((sum, count) => sum + Math.max(0, count - allowed), 0)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (endedAt(middle) >= need) low = middle
    else high = middle - 1
  }
  return low
}

/** The descriptors of connections by network: an IPv4 address or an IPv6 /48. */
async function groupByNetwork(
  sockets: Sockets,
  isCounted: (peer: string, port: number) => boolean,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>()
  for (const [at, descriptor] of sockets.list().entries()) {
    if (at % descriptorsPerTurn === descriptorsPerTurn - 1) await new Promise(setImmediate)
    const network = networkAt(sockets, descriptor, isCounted)
    if (network === undefined) continue
    const known = found.get(network)
    if (known) known.push(descriptor)
    else found.set(network, [descriptor])
  }
  return found
}

function networkAt(
  sockets: Sockets,
  descriptor: number,
  isCounted: (peer: string, port: number) => boolean,
): string | undefined {
  const connection = sockets.connectionAt(descriptor)
  if (!connection || !isCounted(connection.peer, connection.port)) return undefined
  return networksOf(connection.peer).at(-1)
}
