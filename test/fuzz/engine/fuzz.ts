import { mutated } from "./mutation.ts"
import type { Outcome } from "./outcome.ts"
import { type Random, seededRandom } from "./random.ts"
import type { FuzzTarget, OpenTarget } from "./target.ts"

/** An input for which the parser failed, as small as it could be made. */
export type Finding = { readonly input: Buffer; readonly reason: string }

export type FuzzOptions = {
  readonly seed: number
  /** Inputs to begin with, beside the seeds of the target. */
  readonly corpus: readonly Buffer[]
  /** Asked before each run. */
  readonly isOver: (runs: number) => boolean
  /** Called before each run, so that the input of one that never ends is known. */
  readonly beforeRun?: (input: Buffer) => void
  /** Called with each made input that did what no other had done, after it was made small. */
  readonly onNew?: (input: Buffer, outcome: Outcome) => void
  readonly onFinding?: (finding: Finding) => void
}

export type FuzzResult = {
  readonly runs: number
  readonly outcomes: number
  readonly findings: readonly Finding[]
}

/** Inputs that are kept to mutate further. */
const poolMax = 3000

/**
 * Runs mutated inputs. There is no instrumentation: an input whose outcome has a new signature is
 * kept and mutated further. With the same seed and corpus, the same inputs are tried.
 */
export async function fuzz(
  target: FuzzTarget,
  open: OpenTarget,
  options: FuzzOptions,
): Promise<FuzzResult> {
  const random = seededRandom(options.seed)
  const seen = new Set<string>()
  const pool: Buffer[] = []
  const accepted: Buffer[] = []
  const findings: Finding[] = []
  let runs = 0
  const run = (input: Buffer): Promise<Outcome> => {
    runs++
    options.beforeRun?.(input)
    return open.run(input)
  }
  const look = async (input: Buffer, isGiven: boolean) => {
    const outcome = await run(input)
    const signature = signatureOf(outcome)
    if (seen.has(signature)) return
    seen.add(signature)
    const isSame = async (other: Buffer) => signatureOf(await run(other)) === signature
    const small = isGiven ? input : await minimized(input, isSame)
    for (const list of outcome.kind === "accepted" ? [pool, accepted] : [pool]) {
      if (list.length < poolMax) list.push(small)
      else list[random.below(poolMax)] = small
    }
    if (outcome.kind === "fault") {
      const finding = { input: small, reason: outcome.reason ?? "" }
      findings.push(finding)
      options.onFinding?.(finding)
    } else if (!isGiven) options.onNew?.(small, outcome)
  }
  const given = [...open.seeds, ...options.corpus]
  for (const input of given) await look(input, true)
  // What mutations begin with, also where several inputs have the same outcome.
  const begin = given.length > 0 ? given : [Buffer.alloc(0)]
  while (!options.isOver(runs))
    await look(nextInput(target, { random, pool, accepted, begin }), false)
  return { runs, outcomes: seen.size, findings }
}

const signatureOf = (outcome: Outcome): string => `${outcome.kind} ${outcome.signature()}`

type State = {
  readonly random: Random
  readonly pool: readonly Buffer[]
  readonly accepted: readonly Buffer[]
  readonly begin: readonly Buffer[]
}

/** Most inputs are rejected early; those that were accepted lead further. */
function nextInput({ tokens, mutations }: FuzzTarget, state: State): Buffer {
  const { random, pool, accepted, begin } = state
  const sources = [begin, accepted, accepted, pool, pool.slice(-1)]
  const input = random.pick(listed(random.pick(sources), begin))
  const other = random.pick(listed(random.pick(sources), begin))
  return mutated(input, { random, tokens, other }, mutations)
}

const listed = (list: readonly Buffer[], otherwise: readonly Buffer[]): readonly Buffer[] =>
  list.length > 0 ? list : otherwise

const triesMax = 300

/** Takes parts out of an input while it keeps doing the same. */
async function minimized(
  input: Buffer,
  isSame: (input: Buffer) => Promise<boolean>,
): Promise<Buffer> {
  let current = input
  let tries = 0
  for (let size = Math.floor(input.length / 2); size > 0; size = Math.floor(size / 2)) {
    for (let at = 0; at < current.length && tries < triesMax; tries++) {
      const shorter = Buffer.concat([current.subarray(0, at), current.subarray(at + size)])
      if (shorter.length < current.length && (await isSame(shorter))) current = shorter
      else at += size
    }
  }
  return current
}
