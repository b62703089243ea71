/** Texts of the login pages by key: "login_name.title". */
export type Texts = Readonly<Record<string, string>>

/** The screens, from the first segment of the keys, in order. */
export const screensOf = (texts: Texts): readonly string[] => [
  ...new Set(Object.keys(texts).map(screenOf)),
]

export const screenOf = (key: string): string => key.split(".")[0] ?? ""

/** The role of a text on its screen, from the last segment of its key. */
export type TextRole = "heading" | "button" | "field" | "hint" | "error" | "text"

const roles: readonly (readonly [RegExp, TextRole])[] = [
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

/** Patterns match the key within the screen: "title", "error.missing". */
export const roleOf = (key: string): TextRole =>
  roles.find(([pattern]) => pattern.test(key.slice(screenOf(key).length + 1)))?.[1] ?? "text"

/** Flattens nested texts to full keys. */
export function flatten(parts: object, above = ""): Texts {
  const texts = Object.entries(parts).map(([part, value]: [string, unknown]): Texts => {
    if (typeof value === "object" && value) return flatten(value, `${above}${part}.`)
    return { [`${above}${part}`]: String(value) }
  })
  return Object.assign({}, ...texts)
}
