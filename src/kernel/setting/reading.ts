/**
 * How a setting is read: its value, or what is wrong; `standard` holds where nothing is given.
 * Plain functions and no schemas of a library: every start makes those of all settings.
 */
export type Reading<T> = {
  readonly read: (given: unknown) => { readonly value: T } | { readonly wrong: string }
  readonly standard: T | undefined
}

/** Undefined where nothing is given. */
export const optional = <T>(reading: Reading<T>): Reading<T | undefined> => reading

/** What holds where nothing is given, as somebody would write it. */
export function usually<T>(reading: Reading<T>, written: string | readonly string[]): Reading<T> {
  const outcome = reading.read(written)
  if ("wrong" in outcome) throw new Error(`${written} is no default: ${outcome.wrong}`)
  return { ...reading, standard: outcome.value }
}

/**
 * A text (in the file also a number) that `parse` understands. Messages never repeat the value: it
 * may be a secret.
 */
export function text<T>(what: string, parse: (text: string) => T | undefined): Reading<T> {
  return understood(what, (given) =>
    typeof given === "string" || Number.isFinite(given) ? parse(String(given)) : undefined,
  )
}

/** A list: an array in the file, separated by commas elsewhere. */
export function list<T>(
  what: string,
  parse: (text: string) => T | undefined,
): Reading<readonly T[]> {
  return understood(what, (given) => {
    const values = typeof given === "string" ? separated(given) : given
    if (!Array.isArray(values)) return undefined
    const parsed = values.flatMap((each) => (typeof each === "string" ? (parse(each) ?? []) : []))
    return parsed.length === values.length ? parsed : undefined
  })
}

/** One of some words. */
export const choice = <const T extends string>(options: readonly T[]): Reading<T> =>
  understood(`one of ${options.join(", ")}`, (given) => options.find((each) => each === given))

function understood<T>(what: string, read: (given: unknown) => T | undefined): Reading<T> {
  return {
    read: (given) => {
      const value = read(given)
      return value === undefined ? { wrong: `must be ${what}` } : { value }
    },
    standard: undefined,
  }
}

/** Tables of the file, or JSON elsewhere; `parse` answers a text that says what is wrong. */
export function table<T extends object>(parse: (given: unknown) => T | string): Reading<T> {
  return {
    read: (given) => {
      const parsed = parse(typeof given === "string" ? (jsonOf(given) ?? given) : given)
      // The value stays out of it, as everywhere here.
      return typeof parsed === "string" ? { wrong: parsed } : { value: parsed }
    },
    standard: undefined,
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function separated(value: string): string[] {
  return value.split(",").flatMap((part) => part.trim() || [])
}
