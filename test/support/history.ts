/** What somebody did with a register, by one clock, in ms; `value` is unlike any other's. */
export type Deed = {
  readonly register: string
  readonly kind: "write" | "read"
  /** Of a read that found nothing, undefined. */
  readonly value: string | undefined
  readonly begun: number
  /** Undefined where nobody knows what became of it: it may have happened, then or later. */
  readonly ended: number | undefined
}

/**
 * What is wrong with a history of registers that everybody reads and writes as if there were one of
 * each (linearizability, Herlihy and Wing 1990), as far as times tell: a read that shows what was
 * never written, or only later; one that misses what had been written before it began, or what
 * somebody had read by then. Necessary for it, not sufficient, and quick.
 */
export function complaintsAbout(history: readonly Deed[]): readonly string[] {
  return [...groupedBy(history, ({ register }) => register).values()].flatMap(registerComplaints)
}

function registerComplaints(history: readonly Deed[]): readonly string[] {
  const written = history.filter(({ kind }) => kind === "write")
  const writes = new Map(written.map((deed) => [deed.value, deed]))
  const reads = history.filter(({ kind, ended }) => kind === "read" && ended !== undefined)
  const newestKnown = newestKnownOf([...written, ...reads], writes)
  return reads.flatMap((read) => {
    const { register, value, begun } = read
    const source = value === undefined ? undefined : writes.get(value)
    if (value !== undefined && !source) return [`${register}: ${value} was read, and never written`]
    if (source && endOf(read) < source.begun) return [`${register}: ${value} was read too early`]
    const { by, write } = newestKnown(begun) ?? {}
    const isMissed = write && (source === undefined || isOver(source, write))
    if (!by || !isMissed) return []
    const how = by.kind === "write" ? "written" : "read"
    return [`${register}: ${value} was read after ${by.value} had been ${how}`]
  })
}

/** What somebody knew before a time: of the values that were seen by then, the one begun last. */
function newestKnownOf(
  deeds: readonly Deed[],
  writes: ReadonlyMap<string | undefined, Deed>,
): (before: number) => { readonly by: Deed; readonly write: Deed } | undefined {
  const known = deeds
    .flatMap((by) => {
      const write = by.value === undefined ? undefined : writes.get(by.value)
      return write ? [{ by, write }] : []
    })
    .sort((a, b) => endOf(a.by) - endOf(b.by))
  let newest = known[0]
  const newestOf = known.map((each) => {
    if (newest && each.write.begun > newest.write.begun) newest = each
    return newest
  })
  return (before) => newestOf[countBelow(known, ({ by }) => endOf(by) < before) - 1]
}

/** How many from the first on pass; behind the first that does not none does. */
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

const endOf = ({ ended = Number.POSITIVE_INFINITY }: Deed): number => ended

/** Whether one had ended when the other began. */
const isOver = (one: Deed, other: Deed): boolean => endOf(one) < other.begun

/** A try of something that only one may win: a name, a code, a token. */
export type Try = {
  readonly thing: string
  readonly who: string
  readonly begun: number
  /** Undefined where nobody knows what became of it. */
  readonly outcome: "won" | "refused" | undefined
  readonly ended: number
}

/** What was won twice, and what nobody could have won before somebody was refused it. */
export function wonTwice(tries: readonly Try[]): readonly string[] {
  return [...groupedBy(tries, ({ thing }) => thing)].flatMap(([thing, all]) => {
    const won = all.filter(({ outcome }) => outcome === "won")
    const possible = all.filter(({ outcome }) => outcome !== "refused")
    const refused = all.find(
      ({ outcome, ended }) =>
        outcome === "refused" && !possible.some(({ begun }) => begun <= ended),
    )
    return [
      ...(won.length > 1 ? [`${thing} was won by ${won.map(({ who }) => who).join(" and ")}`] : []),
      ...(refused ? [`${thing} was refused to ${refused.who}, and nobody had it`] : []),
    ]
  })
}

/** Work that was asked for; what of it was promised, and what was found in the end. */
export type Promised = {
  readonly what: string
  readonly asked: ReadonlySet<string>
  readonly acknowledged: readonly string[]
  /** Each time that it was found, with what makes a second one the same. */
  readonly found: readonly { readonly name: string; readonly mark: string }[]
}

/** What was promised and is lost, was done twice, or was never asked for. */
export function brokenPromises({ what, asked, acknowledged, found }: Promised): readonly string[] {
  const marks = groupedBy(found, ({ name }) => name)
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

function groupedBy<T>(all: readonly T[], key: (each: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const each of all) {
    const group = groups.get(key(each))
    if (group) group.push(each)
    else groups.set(key(each), [each])
  }
  return groups
}
