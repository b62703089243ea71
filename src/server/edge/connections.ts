import type { Logger } from "@logtape/logtape"
import { openSockets, type Sockets } from "../../boot/system/sockets.ts"
import type { Clock } from "../../kernel/clock.ts"
import { reasonText } from "../../kernel/fault.ts"
import { isLoopback, networksOf } from "../../kernel/net/address.ts"
import { keepRounds } from "../background/round.ts"

const everyMs = 1000
const reportEveryMs = 60_000

/** What part of all descriptors the connections of one address may take, and how many at most. */
const [partOfOne, mostOfAny] = [1 / 4, 16_384]
/** From where on connections are ended, and until where: the rest is for files and answers. */
const [fullPart, enoughPart] = [0.8, 0.7]
/** An address keeps as many even then, about what one browser opens. */
const leastOfOne = 8

/** How many descriptors are looked at before others have their turn. */
const atOnce = 4096

type Parts = {
  readonly clock: Clock
  readonly log: Pick<Logger, "warning">
  readonly isProxy: (address: string) => boolean
}

/** Limits the connections of each address to what listens in this process. */
export async function limitConnections(
  { clock, log, isProxy }: Parts,
  listeners: readonly { readonly port: number }[],
): Promise<{ readonly stop: () => Promise<void> }> {
  const sockets = await openSockets().catch((cause: unknown) => {
    log.warning("connections are not limited by address: {cause}", { cause: reasonText(cause) })
    return undefined
  })
  if (!sockets) return { stop: async () => undefined }
  const ports = listeners.map(({ port }) => port)
  let reportedAt = Number.NEGATIVE_INFINITY
  return keepRounds(clock, everyMs, async () => {
    const ended = await endExcess(sockets, (peer, port) => {
      return ports.includes(port) && !isLoopback(peer) && !isProxy(peer)
    })
    if (ended.length === 0 || clock.now() - reportedAt < reportEveryMs) return
    reportedAt = clock.now()
    for (const { network, held, count } of ended.slice(0, reportsMax)) {
      log.warning("ended {count} connections of {network}, which had {held} of {max} open files", {
        count,
        network,
        held,
        max: sockets.max(),
      })
    }
  })
}

/** Whose connections are named in the log at a time, those with the most first. */
const reportsMax = 5

type Ended = { readonly network: string; readonly held: number; readonly count: number }

/**
 * Ends what connections an address has above its part; and where nearly all descriptors are taken,
 * those of the addresses that have the most, until there is room. The runtime accepts connections
 * by itself: once no descriptor is left it tries again and again, and nobody else can connect.
 */
export async function endExcess(
  sockets: Sockets,
  isCounted: (peer: string, port: number) => boolean,
): Promise<readonly Ended[]> {
  const max = sockets.max()
  const mostOfOne = Math.max(leastOfOne, Math.min(mostOfAny, Math.floor(max * partOfOne)))
  const count = sockets.count()
  if (count <= mostOfOne) return []
  const all = await connectionsBy(sockets, isCounted)
  const over = count - max * fullPart
  const need = over > 0 ? count - max * enoughPart : 0
  const level = Math.min(
    mostOfOne,
    levelFor(
      [...all.values()].map((each) => each.length),
      need,
    ),
  )
  return [...all]
    .filter(([, descriptors]) => descriptors.length > level)
    .map(([network, descriptors]) => {
      // The last ones, which are the youngest for the most part.
      const excess = descriptors.slice(level)
      // Meanwhile a descriptor may have become another connection.
      const still = excess.filter((each) => networkAt(sockets, each, isCounted) === network)
      for (const descriptor of still) sockets.end(descriptor)
      return { network, held: descriptors.length, count: still.length }
    })
    .filter((each) => each.count > 0)
    .sort((one, other) => other.held - one.held)
}

/** How many connections each may keep so that `need` are ended, but never fewer than the least. */
function levelFor(counts: readonly number[], need: number): number {
  if (need <= 0) return Number.POSITIVE_INFINITY
  let [low, high] = [leastOfOne, Math.max(leastOfOne, ...counts)]
  const endedAt = (level: number) =>
    counts.reduce((sum, count) => sum + Math.max(0, count - level), 0)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (endedAt(middle) >= need) low = middle
    else high = middle - 1
  }
  return low
}

/** The descriptors of connections by where they come from: an IPv4 address, or a /48 of IPv6. */
async function connectionsBy(
  sockets: Sockets,
  isCounted: (peer: string, port: number) => boolean,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>()
  for (const [at, descriptor] of sockets.list().entries()) {
    if (at % atOnce === atOnce - 1) await new Promise(setImmediate)
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
