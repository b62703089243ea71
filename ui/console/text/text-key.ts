/** Texts of the sign-in by their keys: "login_name.title". */
export type Texts = Readonly<Record<string, string>>

/** The screens by the first parts of their keys, in the order in which they come. */
export const screensOf = (texts: Texts): readonly string[] => [
  ...new Set(Object.keys(texts).map(screenOf)),
]

export const screenOf = (key: string): string => key.split(".")[0] ?? ""

/** What a text is on its screen, told by the last part of its key. */
export type Role = "heading" | "button" | "field" | "hint" | "error" | "text"

const roles: readonly (readonly [RegExp, Role])[] = [
  [/(^|\.)error\./, "error"],
  [/(^|[._])title$/, "heading"],
  [/hint$/, "hint"],
  [
    /(^|[._])(submit|send|send_again|skip|allow|cancel|back|again|other|continue|use_key)$/,
    "button",
  ],
  [/(^|\.)(show|hide|forgot|sign_in|change|ask|console|way\.\w+)$/, "button"],
  [/(^|[._])(label|code|repeat|email|first_?name|last_?name|given_?name|family_?name)$/i, "field"],
]

/** A key within its screen says it: "title", "error.missing". */
export const roleOf = (key: string): Role =>
  roles.find(([pattern]) => pattern.test(key.slice(screenOf(key).length + 1)))?.[1] ?? "text"

/** Texts by their whole keys, of those by parts. */
export function flat(parts: object, above = ""): Texts {
  const texts = Object.entries(parts).map(([part, value]: [string, unknown]): Texts => {
    if (typeof value === "object" && value) return flat(value, `${above}${part}.`)
    return { [`${above}${part}`]: String(value) }
  })
  return Object.assign({}, ...texts)
}
