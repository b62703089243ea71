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
  const writes = new Map(
    history.filter(({ kind }) => kind === "write").map((deed) => [keyOf(deed), deed] as const),
  )
  const reads = history.filter(({ kind, ended }) => kind === "read" && ended !== undefined)
  return reads.flatMap((read) => {
    const { register, value } = read
    const source = value === undefined ? undefined : writes.get(keyOf(read))
    if (value !== undefined && !source) return [`${register}: ${value} was read, and never written`]
    if (source && endOf(read) < source.begun) return [`${register}: ${value} was read too early`]
    const known = [...writes.values(), ...reads].filter(
      (other) => other.register === register && other.value !== undefined && other.value !== value,
    )
    const missed = known.filter((other) => isOver(other, read) && isNewer(other, source, writes))
    return missed.slice(0, 1).map((other) => {
      const how = other.kind === "write" ? "written" : "read"
      return `${register}: ${value} was read after ${other.value} had been ${how}`
    })
  })
}

const keyOf = ({ register, value }: Deed): string => `${register}/${value}`

const endOf = ({ ended = Number.POSITIVE_INFINITY }: Deed): number => ended

/** Whether one had ended when the other began. */
const isOver = (one: Deed, other: Deed): boolean => endOf(one) < other.begun

/** Whether the value of a deed can only have been written after that of another write. */
function isNewer(deed: Deed, than: Deed | undefined, writes: ReadonlyMap<string, Deed>): boolean {
  const write = writes.get(keyOf(deed))
  return write !== undefined && (than === undefined || isOver(than, write))
}
