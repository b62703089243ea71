/** Pseudorandom numbers; equal seeds produce equal numbers. */
export type Random = {
  /** An integer from 0 to below `end`. */
  readonly below: (end: number) => number
  readonly pick: <T>(list: readonly T[]) => T
  readonly bytes: (count: number) => Buffer
}

/** A generator with 32 bits of state (mulberry32), which suffices to choose mutations. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (end: number) => Math.floor((next() / 2 ** 32) * end)
  const pick = <T>(list: readonly T[]): T => {
    const one = list[below(list.length)]
    if (one === undefined) throw new Error("the list is empty")
    return one
  }
  return { below, pick, bytes: (count) => Buffer.from(Array.from({ length: count }, next)) }
}
