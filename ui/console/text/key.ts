/** Texts of the sign-in by their keys: "login_name.title". */
export type Texts = Readonly<Record<string, string>>

/** The screens by the first parts of their keys, in the order in which they come. */
export const screensOf = (texts: Texts): readonly string[] => [
  ...new Set(Object.keys(texts).map(screenOf)),
]

export const screenOf = (key: string): string => key.split(".")[0] ?? ""

/** Texts by their whole keys, of those by parts. */
export function flat(parts: object, above = ""): Texts {
  const texts = Object.entries(parts).map(([part, value]: [string, unknown]): Texts => {
    if (typeof value === "object" && value) return flat(value, `${above}${part}.`)
    return { [`${above}${part}`]: String(value) }
  })
  return Object.assign({}, ...texts)
}
