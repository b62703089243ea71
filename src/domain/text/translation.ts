import { createHash } from "node:crypto"
import { refusedError } from "./bound.ts"
import type { Texts } from "./model.ts"

/** Texts by the parts of their keys. */
export type Translation = { [part: string]: string | Translation }

/** As deep as the keys of the pages go, at least. */
const depthMax = 8

/** Texts by their keys, of a translation as it is sent; refuses what is neither text nor more. */
export function textsOf(translation: object, above = "", depth = 1): Texts {
  const parts = Object.entries(translation).map(([part, value]: [string, unknown]): Texts => {
    const key = `${above}${part}`
    if (typeof value === "string") return { [key]: value }
    if (typeof value === "object" && value && !Array.isArray(value) && depth < depthMax) {
      return textsOf(value, `${key}.`, depth + 1)
    }
    throw refusedError(`translations has ${JSON.stringify(key)}, which is no text`)
  })
  return Object.assign({}, ...parts)
}

/** The other way round. */
export function translationOf(texts: Texts): Translation {
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

/** 32 characters that are others for other texts. */
export const etagOf = (texts: Texts): string =>
  createHash("sha256")
    .update(JSON.stringify(Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex")
    .slice(0, 32)
