import { createPageReleaser } from "../../boot/memory/executable.ts"
import { privateBytes } from "../../boot/memory/private.ts"
import { errorText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const everyMs = 10_000
/** A process that uses less CPU time than this in a round, which is 1 % of a core, is idle. */
const idleCpuMs = 100
/**
 * Compiled code is dropped after this many idle rounds, because the next requests must compile it
 * again.
 */
const idleRounds = 3
/** The growth since the last trim that triggers the next one. */
const growthBytes = 8_000_000

/** The measurements of a process and the functions that release its memory. */
export type TrimmedProcess = {
  /** The CPU time of all threads since the start. */
  readonly cpuMs: () => number
  readonly privateBytes: () => number
  /** Collects garbage and drops compiled code once no JavaScript runs. */
  readonly shrink: () => void
  /** Unmaps the pages of the executable. */
  readonly unmap: () => Promise<void>
}

/** Opened in the first idle round, because most commands never have one. */
let executable: ReturnType<typeof createPageReleaser> | undefined

const thisProcess: TrimmedProcess = {
  cpuMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  // Bun.gc keeps compiled code, which is a fifth of the private memory after a day of light use.
  shrink: () => Bun.shrink(),
  unmap: async () => {
    executable ??= createPageReleaser()
    const unmap = await executable
    unmap?.()
  },
  privateBytes,
}

/**
 * Releases memory when the server is idle and has grown since the last time: ends idle threads,
 * collects garbage and drops compiled code. The collection blocks the event loop for about 0.1 s,
 * and later requests compile their code again, so this never runs under load. Pages of the
 * executable are unmapped in every idle round.
 */
export function startMemoryTrim(
  { store, clock, log }: Pick<ServerServices, "store" | "clock" | "log">,
  trimmed: TrimmedProcess = thisProcess,
) {
  let spentMs = 0
  let trimmedBytes: number | undefined
  let rested = 0
  let isShrunk = false
  const rest = async (hasGrown: boolean) => {
    if (hasGrown) await shrink()
    // Unmaps last, because the collection also reads code.
    await trimmed.unmap()
  }
  const shrink = async () => {
    await store.endIdleThread()
    store.shrink()
    trimmed.shrink()
    isShrunk = true
  }
  return startRepeating(clock, everyMs, async () => {
    const before = spentMs
    spentMs = trimmed.cpuMs()
    const now = trimmed.privateBytes()
    // The memory after a collection is known only one round later.
    if (isShrunk) trimmedBytes = now
    isShrunk = false
    trimmedBytes ??= now
    rested = spentMs - before < idleCpuMs ? rested + 1 : 0
    if (rested < idleRounds) return
    await rest(now - trimmedBytes >= growthBytes).catch((cause: unknown) =>
      log.warning("memory could not be released: {cause}", { cause: errorText(cause) }),
    )
  })
}
