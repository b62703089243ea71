/** An operation on a register, with times of one clock, in ms; every written `value` is unique. */
export type RegisterOperation = {
  readonly register: string
  readonly kind: "write" | "read"
  /** undefined for a read that found nothing. */
  readonly value: string | undefined
  readonly started: number
  /** undefined if the result is unknown: it may have happened, then or later. */
  readonly ended: number | undefined
}

/**
 * The errors in a history of registers that all clients read and write as if each existed once
 * (linearizability, Herlihy and Wing 1990), as far as times show: a read of a value that was never
 * written, or only later; a read that misses a value written before it started, or already read by
 * then. This check is necessary, not sufficient, and fast.
 */
export function findHistoryErrors(history: readonly RegisterOperation[]): readonly string[] {
  return [...groupBy(history, ({ register }) => register).values()].flatMap(findRegisterErrors)
}

function findRegisterErrors(history: readonly RegisterOperation[]): readonly string[] {
  const written = history.filter(({ kind }) => kind === "write")
  const writes = new Map(written.map((deed) => [deed.value, deed]))
  const reads = history.filter(({ kind, ended }) => kind === "read" && ended !== undefined)
  const newestKnown = createNewestReader([...written, ...reads], writes)
  return reads.flatMap((read) => {
    const { register, value, started: begun } = read
    const source = value === undefined ? undefined : writes.get(value)
    if (value !== undefined && !source) return [`${register}: ${value} was read, and never written`]
    if (source && endOf(read) < source.started) return [`${register}: ${value} was read too early`]
    const { by, write } = newestKnown(begun) ?? {}
    const isMissed = write && (source === undefined || endedBefore(source, write))
    if (!by || !isMissed) return []
    const description = by.kind === "write" ? "written" : "read"
    return [`${register}: ${value} was read after ${by.value} had been ${description}`]
  })
}

/**
 * The newest value known before a time: of the values seen by then, the one whose write started
 * last.
 */
function createNewestReader(
  deeds: readonly RegisterOperation[],
  writes: ReadonlyMap<string | undefined, RegisterOperation>,
): (
  before: number,
) => { readonly by: RegisterOperation; readonly write: RegisterOperation } | undefined {
  const known = deeds
    .flatMap((by) => {
      const write = by.value === undefined ? undefined : writes.get(by.value)
      return write ? [{ by, write }] : []
    })
    .sort((a, b) => endOf(a.by) - endOf(b.by))
  let newest = known[0]
  const newestOf = known.map((each) => {
    if (newest && each.write.started > newest.write.started) newest = each
    return newest
  })
  return (before) => newestOf[countBelow(known, ({ by }) => endOf(by) < before) - 1]
}

/** The number of leading elements that pass; no element after the first failing one passes. */
function countBelow<T>(sorted: readonly T[], passes: (each: T) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const each = sorted[middle]
    if (each !== undefined && passes(each)) low = middle + 1
    else high = middle
  }
  return low
}

const endOf = ({ ended = Number.POSITIVE_INFINITY }: RegisterOperation): number => ended

/** Whether one operation ended before the other started. */
const endedBefore = (one: RegisterOperation, other: RegisterOperation): boolean =>
  endOf(one) < other.started

/** An attempt at something that only one can win: a name, a code, a token. */
export type Attempt = {
  readonly resource: string
  readonly client: string
  readonly started: number
  /** undefined if the result is unknown. */
  readonly outcome: "won" | "refused" | undefined
  readonly ended: number
}

/** Attempts that were won twice, and rejections before any possible winner. */
export function findDoubleWins(tries: readonly Attempt[]): readonly string[] {
  return [...groupBy(tries, ({ resource: thing }) => thing)].flatMap(([thing, all]) => {
    const won = all.filter(({ outcome }) => outcome === "won")
    const possible = all.filter(({ outcome }) => outcome !== "refused")
    const refused = all.find(
      ({ outcome, ended }) =>
        outcome === "refused" && !possible.some(({ started: begun }) => begun <= ended),
    )
    return [
      ...(won.length > 1
        ? [`${thing} was won by ${won.map(({ client: who }) => who).join(" and ")}`]
        : []),
      ...(refused ? [`${thing} was refused to ${refused.client}, and nobody had it`] : []),
    ]
  })
}

/** Requested work: what was acknowledged, and what was found in the end. */
export type AcknowledgedWork = {
  readonly what: string
  readonly requested: ReadonlySet<string>
  readonly acknowledged: readonly string[]
  /** Each occurrence, with a mark that identifies repetitions. */
  readonly found: readonly { readonly name: string; readonly mark: string }[]
}

/** Acknowledged work that is missing, was done twice, or was never requested. */
export function findLostWork({
  what,
  requested: asked,
  acknowledged,
  found,
}: AcknowledgedWork): readonly string[] {
  const marks = groupBy(found, ({ name }) => name)
  return [
    ...acknowledged
      .filter((name) => !marks.has(name))
      .map((name) => `${what} ${name} was acknowledged, and is lost`),
    ...[...marks].flatMap(([name, all]) => [
      ...(asked.has(name) ? [] : [`${what} ${name} was never asked for`]),
      ...(new Set(all.map(({ mark }) => mark)).size > 1 ? [`${what} ${name} was done twice`] : []),
    ]),
  ]
}

function groupBy<T>(all: readonly T[], key: (each: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const each of all) {
    const group = groups.get(key(each))
    if (group) group.push(each)
    else groups.set(key(each), [each])
  }
  return groups
}
