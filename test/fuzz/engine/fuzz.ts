import { mutate } from "./mutation.ts"
import type { Outcome } from "./outcome.ts"
import { type Random, seededRandom } from "./random.ts"
import type { FuzzTarget, OpenTarget } from "./target.ts"

/** An input that triggers a parser fault, minimized. */
export type Finding = { readonly input: Buffer; readonly reason: string }

export type FuzzOptions = {
  readonly seed: number
  /** Initial inputs in addition to the seeds of the target. */
  readonly corpus: readonly Buffer[]
  /** Called before each run; stops the fuzzer when it returns true. */
  readonly isOver: (runs: number) => boolean
  /** Called before each run, so that an input that never terminates is known. */
  readonly beforeRun?: (input: Buffer) => void
  /** Called with each generated input with a new outcome, after its minimization. */
  readonly onNew?: (input: Buffer, outcome: Outcome) => void
  readonly onFinding?: (finding: Finding) => void
}

export type FuzzResult = {
  readonly runs: number
  readonly outcomes: number
  readonly findings: readonly Finding[]
}

/** The maximum number of inputs to mutate further. */
const poolMax = 3000

/**
 * Runs mutated inputs without instrumentation: an input whose outcome has a new signature is kept
 * and mutated further. The same seed and corpus produce the same inputs.
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
    const small = isGiven ? input : await minimize(input, isSame)
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
  // The initial inputs, even if several of them have the same outcome.
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

/** Most inputs are rejected early; mutations of accepted ones reach further. */
function nextInput({ tokens, mutations }: FuzzTarget, state: State): Buffer {
  const { random, pool, accepted, begin } = state
  const sources = [begin, accepted, accepted, pool, pool.slice(-1)]
  const input = random.pick(listOr(random.pick(sources), begin))
  const other = random.pick(listOr(random.pick(sources), begin))
  return mutate(input, { random, tokens, other }, mutations)
}

const listOr = (list: readonly Buffer[], otherwise: readonly Buffer[]): readonly Buffer[] =>
  list.length > 0 ? list : otherwise

const triesMax = 300

/** Removes parts of an input while the outcome stays the same. */
async function minimize(
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
