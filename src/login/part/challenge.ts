import type { Challenge } from "../../domain/factor/index.ts"
import type { Cx } from "../../store/index.ts"
import type { BrowserContext } from "../session.ts"

/**
 * Seals a challenge into the next page. It is valid only in this browser and for this user; the
 * check ensures single use.
 */
export const sealChallenge = (
  cx: Cx,
  browserContext: BrowserContext,
  { userId, challenge }: { readonly userId: string; readonly challenge: Challenge },
): string =>
  cx.secrets.seal("cookie", JSON.stringify(challenge), sealContextOf(cx, browserContext, userId))

/** The challenge of a page; undefined if it is not valid in this browser. */
export function openChallenge(
  cx: Cx,
  browserContext: BrowserContext,
  { userId, sealed }: { readonly userId: string; readonly sealed: string },
): Challenge | undefined {
  const plain = cx.secrets.open("cookie", sealed, sealContextOf(cx, browserContext, userId))
  return plain === undefined ? undefined : JSON.parse(plain)
}

const sealContextOf = (cx: Cx, { browser }: BrowserContext, userId: string): string =>
  `factor/${cx.instance}/${browser.id}/${userId}`
