import { customLoginTexts } from "../../domain/text/index.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import { brandingOrgOf } from "../appearance/private-labeling.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { pageOrgOf } from "../page.ts"
import { loginPaths } from "../path.ts"

/** Steps of the sign-in that have a confirmation page. */
export const doneKinds = [
  "invite",
  "password_change",
  "factor_setup",
  "passkey_setup",
  "linking",
] as const
export type DoneKind = (typeof doneKinds)[number]

/**
 * The confirmation page of a step; undefined if it is skipped, which is the default unless a text
 * for it was customized.
 */
export function doneHref(
  loginContext: LoginContext,
  kind: DoneKind,
  userId: string,
): string | undefined {
  const { cx, waiting } = loginContext
  const home = pageOrgOf(cx, brandingOrgOf(cx, waiting?.asked, userId))
  const isWorded = pageLanguages.some((language) =>
    Object.keys(customLoginTexts(cx, home?.id, language)?.texts ?? {}).some((text) =>
      text.startsWith(`${kind}_done/`),
    ),
  )
  if (!isWorded) return undefined
  const href = hrefOf(loginContext, loginPaths.done)
  return `${href}${href.includes("?") ? "&" : "?"}of=${kind}`
}
