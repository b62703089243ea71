import { createHash } from "node:crypto"
import { invalidTextError } from "./invalid-text.ts"
import type { Texts } from "./model.ts"

/** Nested texts by the parts of their keys. */
export type Translation = { [part: string]: string | Translation }

/** At least the depth of the page keys. */
const translationDepthMax = 8

/** Flattens a translation from a request; throws for values other than texts and objects. */
export function flattenTexts(translation: object, above = "", depth = 1): Texts {
  const parts = Object.entries(translation).map(([part, value]: [string, unknown]): Texts => {
    const key = `${above}${part}`
    if (typeof value === "string") return { [key]: value }
    if (
      typeof value === "object" &&
      value &&
      !Array.isArray(value) &&
      depth < translationDepthMax
    ) {
      return flattenTexts(value, `${key}.`, depth + 1)
    }
    throw invalidTextError(`translations contains ${JSON.stringify(key)}, which is not a string`)
  })
  return Object.assign({}, ...parts)
}

/** Nests flat texts. */
export function nestTexts(texts: Texts): Translation {
  const whole: Translation = {}
  for (const [key, text] of Object.entries(texts)) {
    const parts = key.split(".")
    const last = parts.pop() ?? ""
    let at = whole
    for (const part of parts) {
      const below = at[part]
      const next = typeof below === "object" ? below : {}
      at[part] = next
      at = next
    }
    at[last] = text
  }
  return whole
}

/** A hash of the texts; 32 characters. */
export const etagOf = (texts: Texts): string =>
  createHash("sha256")
    .update(JSON.stringify(Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex")
    .slice(0, 32)
