import { createHash } from "node:crypto"
import { type Lru, lru } from "../../kernel/lru.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { customTextsAt, type TextOwner } from "./commands.ts"
import { toPageTexts } from "./field/login.ts"
import type { Texts } from "./model.ts"

/** The template names of login texts: with the fields of v1, and with the keys of the pages. */
export const loginNames = { fields: "login", keys: "hosted_login" } as const

/** The customized texts of the login pages by key, in MessageFormat 2. */
export type CustomLoginTexts = { readonly texts: Texts; readonly id: string }

/** The cache size: a thousand places and languages with a few kilobytes each. */
const cacheSizeMax = 1000

/** Cached because pages are shown far more often than texts change. */
const loginTextCache = cacheQuery<Lru<CustomLoginTexts | "none">>(
  () => lru(cacheSizeMax),
  ["customtext"],
)

/**
 * The customized login texts of an organization or the instance in a language; undefined if there
 * are none. `id` changes with the texts.
 */
export function customLoginTexts(
  cx: Cx,
  owner: TextOwner,
  language: string,
): CustomLoginTexts | undefined {
  const cache = loginTextCache(cx)
  const key = `${language}/${owner === undefined ? "instance" : `org/${owner}`}`
  let loginTexts = cache.get(key)
  if (!loginTexts) {
    loginTexts = findCustomTexts(cx, owner, language)
    cache.set(key, loginTexts)
  }
  return loginTexts === "none" ? undefined : loginTexts
}

function findCustomTexts(cx: Cx, owner: TextOwner, language: string): CustomLoginTexts | "none" {
  const above = pageTextsOf(cx, undefined, language)
  const texts = owner === undefined ? above : { ...above, ...pageTextsOf(cx, owner, language) }
  if (Object.keys(texts).length === 0) return "none"
  return { texts, id: createHash("sha256").update(JSON.stringify(texts)).digest("base64url") }
}

/** Texts by page key take precedence over those by v1 field. */
function pageTextsOf(cx: Cx, owner: TextOwner, language: string): Texts {
  const fields = customTextsAt(cx, owner, { template: loginNames.fields, language })
  const keys = customTextsAt(cx, owner, { template: loginNames.keys, language })
  return { ...(fields && toPageTexts(fields)), ...keys }
}
