/**
 * Parses a setting: returns its value or an error; `standard` is the default. Plain functions
 * instead of library schemas, because every start creates those of all settings.
 */
export type SettingParser<T> = {
  readonly parse: (input: unknown) => { readonly value: T } | { readonly error: string }
  readonly defaultValue: T | undefined
}

/** A setting that is undefined by default. */
export const optional = <T>(reading: SettingParser<T>): SettingParser<T | undefined> => reading

/** A setting with a default, written as users would write it. */
export function withDefault<T>(
  reading: SettingParser<T>,
  defaultText: string | readonly string[],
): SettingParser<T> {
  const outcome = reading.parse(defaultText)
  if ("error" in outcome) throw new Error(`${defaultText} is not a valid default: ${outcome.error}`)
  return { ...reading, defaultValue: outcome.value }
}

/**
 * A text (or a number in the file) that `parse` accepts. Messages never contain the value, which
 * may be a secret.
 */
export function text<T>(
  description: string,
  parse: (text: string) => T | undefined,
): SettingParser<T> {
  return createParser(description, (input) =>
    typeof input === "string" || Number.isFinite(input) ? parse(String(input)) : undefined,
  )
}

/** A list: an array in the file, comma-separated elsewhere. */
export function list<T>(
  description: string,
  parse: (text: string) => T | undefined,
): SettingParser<readonly T[]> {
  return createParser(description, (input) => {
    const values = typeof input === "string" ? splitList(input) : input
    if (!Array.isArray(values)) return undefined
    const parsed = values.flatMap((each) => (typeof each === "string" ? (parse(each) ?? []) : []))
    return parsed.length === values.length ? parsed : undefined
  })
}

/** One of a few words. */
export const choice = <const T extends string>(options: readonly T[]): SettingParser<T> =>
  createParser(`one of ${options.join(", ")}`, (input) => options.find((each) => each === input))

function createParser<T>(
  description: string,
  read: (input: unknown) => T | undefined,
): SettingParser<T> {
  return {
    parse: (input) => {
      const value = read(input)
      return value === undefined ? { error: `must be ${description}` } : { value }
    },
    defaultValue: undefined,
  }
}

/** A table in the file, or JSON elsewhere; `parse` returns a text that describes the error. */
export function table<T extends object>(parse: (input: unknown) => T | string): SettingParser<T> {
  return {
    parse: (input) => {
      const parsed = parse(typeof input === "string" ? (parseJson(input) ?? input) : input)
      // Messages never contain the value.
      return typeof parsed === "string" ? { error: parsed } : { value: parsed }
    },
    defaultValue: undefined,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function splitList(value: string): string[] {
  return value.split(",").flatMap((part) => part.trim() || [])
}
