import { createHash } from "node:crypto"
import { type Lru, lru } from "../../kernel/lru.ts"
import { type Cx, cached } from "../../store/index.ts"
import { type Place, saidAt } from "./commands.ts"
import { onPages } from "./field/login.ts"
import type { Texts } from "./model.ts"

/** The names of what is said of the login pages: by the fields of v1, and by their own keys. */
export const loginNames = { fields: "login", keys: "hosted_login" } as const

/** What the login pages say otherwise than the standard, by their keys, as MessageFormat 2. */
export type LoginWords = { readonly texts: Texts; readonly id: string }

/** A thousand places and languages, at most twice as many: their words are a few kilobytes each. */
const wordsMax = 1000

/** Kept while nobody says anything else: a page is shown far more often than its words change. */
const known = cached<Lru<LoginWords | "none">>(() => lru(wordsMax), ["customtext"])

/**
 * What an organisation, and else the instance, says otherwise on the login pages in a language;
 * undefined: nothing. The `id` is another one for other words.
 */
export function loginWords(cx: Cx, place: Place, language: string): LoginWords | undefined {
  const kept = known(cx)
  const key = `${language}/${place === undefined ? "instance" : `org/${place}`}`
  let words = kept.get(key)
  if (!words) {
    words = wordsAt(cx, place, language)
    kept.set(key, words)
  }
  return words === "none" ? undefined : words
}

function wordsAt(cx: Cx, place: Place, language: string): LoginWords | "none" {
  const above = saidOnPages(cx, undefined, language)
  const texts = place === undefined ? above : { ...above, ...saidOnPages(cx, place, language) }
  if (Object.keys(texts).length === 0) return "none"
  return { texts, id: createHash("sha256").update(JSON.stringify(texts)).digest("base64url") }
}

/** Whoever knows the keys of the pages has the last word. */
function saidOnPages(cx: Cx, place: Place, language: string): Texts {
  const fields = saidAt(cx, place, { template: loginNames.fields, language })
  const keys = saidAt(cx, place, { template: loginNames.keys, language })
  return { ...(fields && onPages(fields)), ...keys }
}
