import { loginWords } from "../../domain/text/index.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { lookOrgOf } from "../look/labelling.ts"
import { pagesOf } from "../page.ts"
import { loginPaths } from "../path.ts"

/** What a step of the sign-in has done. */
export const doneKinds = [
  "invite",
  "password_change",
  "factor_setup",
  "passkey_setup",
  "linking",
] as const
export type DoneKind = (typeof doneKinds)[number]

/**
 * The page that says that something is done. Users go on without it, unless the pages that they see
 * have a text for it; undefined: they have none.
 */
export function doneHref(
  loginContext: LoginContext,
  kind: DoneKind,
  userId: string,
): string | undefined {
  const { cx, waiting } = loginContext
  const home = pagesOf(cx, lookOrgOf(cx, waiting?.asked, userId))
  const isWorded = pageLanguages.some((language) =>
    Object.keys(loginWords(cx, home?.id, language)?.texts ?? {}).some((text) =>
      text.startsWith(`${kind}_done/`),
    ),
  )
  if (!isWorded) return undefined
  const href = hrefOf(loginContext, loginPaths.done)
  return `${href}${href.includes("?") ? "&" : "?"}of=${kind}`
}
