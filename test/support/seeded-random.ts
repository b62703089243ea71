/** Numbers below a limit, and elements of a list. */
export type SeededRandom = {
  readonly next: (end: number) => number
  readonly pick: <T>(list: readonly T[]) => T
}

/** Pseudo-random numbers that are the same in every run. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed
  const next = (end: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * end)
  }
  const pick = <T>(list: readonly T[]): T => {
    const one = list[next(list.length)]
    if (one === undefined) throw new Error("nothing to pick from")
    return one
  }
  return { next, pick }
}
