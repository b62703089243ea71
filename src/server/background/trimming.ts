import { openExecutable } from "../../boot/memory/executable.ts"
import { privateBytes } from "../../boot/memory/private.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const everyMs = 10_000
/** A process that works less than this in a round, which is 1 % of a core, is at rest. */
const restCpuMs = 100
/** Code is dropped after so many rounds at rest: the next requests have to load it again. */
const restRounds = 3
/** So much more must be in use than the last time left before it is given back again. */
const growthBytes = 8_000_000

/** What is measured of the process, and what gives its memory back. */
export type TrimmedProcess = {
  /** CPU time of all threads since the start. */
  readonly cpuMs: () => number
  readonly privateBytes: () => number
  /** Collects garbage and drops compiled code as soon as no JavaScript runs. */
  readonly shrink: () => void
  /** Unmaps what it has read of the executable. */
  readonly unmap: () => Promise<void>
}

/** Opened at the first rest: most commands of the command line never have one. */
let executable: ReturnType<typeof openExecutable> | undefined

const thisProcess: TrimmedProcess = {
  cpuMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  // Bun.gc keeps compiled code, which is a fifth of the private memory after a day of light use.
  shrink: () => Bun.shrink(),
  unmap: async () => {
    executable ??= openExecutable()
    const unmap = await executable
    unmap?.()
  },
  privateBytes,
}

/**
 * Gives memory back to the system once the server is at rest and has grown since the last time:
 * ends idle threads, collects garbage and drops compiled code. The collection blocks the event loop
 * for about a tenth of a second, and later requests load again what they need, so nothing of this
 * is done under load. Pages of the executable are unmapped in each round of a rest.
 */
export function keepTrimming(
  { store, clock, log }: Pick<ServerServices, "store" | "clock" | "log">,
  trimmed: TrimmedProcess = thisProcess,
) {
  let spentMs = 0
  let left: number | undefined
  let rested = 0
  let isShrunk = false
  const rest = async (hasGrown: boolean) => {
    if (hasGrown) await shrink()
    // Last: collecting reads code, too.
    await trimmed.unmap()
  }
  const shrink = async () => {
    await store.endIdleThread()
    store.shrink()
    trimmed.shrink()
    isShrunk = true
  }
  return keepRounds(clock, everyMs, async () => {
    const before = spentMs
    spentMs = trimmed.cpuMs()
    const now = trimmed.privateBytes()
    // What a collection left is known only a round later.
    if (isShrunk) left = now
    isShrunk = false
    left ??= now
    rested = spentMs - before < restCpuMs ? rested + 1 : 0
    if (rested < restRounds) return
    await rest(now - left >= growthBytes).catch((cause: unknown) =>
      log.warning("memory could not be given back: {cause}", { cause: reasonText(cause) }),
    )
  })
}
