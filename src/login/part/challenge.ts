import type { Challenge } from "../../domain/factor/index.ts"
import type { Cx } from "../../store/index.ts"
import type { BrowserContext } from "../session.ts"

/**
 * Notes for the next page what was asked for. It counts in this browser only, and for this person;
 * that it counts once is seen to where it is checked.
 */
export const writeChallenge = (
  cx: Cx,
  browserContext: BrowserContext,
  { userId, challenge }: { readonly userId: string; readonly challenge: Challenge },
): string =>
  cx.secrets.seal("cookie", JSON.stringify(challenge), aboutOf(cx, browserContext, userId))

/** What was asked for; undefined for anything that this browser was not asked. */
export function readChallenge(
  cx: Cx,
  browserContext: BrowserContext,
  { userId, sealed }: { readonly userId: string; readonly sealed: string },
): Challenge | undefined {
  const plain = cx.secrets.open("cookie", sealed, aboutOf(cx, browserContext, userId))
  return plain === undefined ? undefined : JSON.parse(plain)
}

const aboutOf = (cx: Cx, { browser }: BrowserContext, userId: string): string =>
  `factor/${cx.instance}/${browser.id}/${userId}`
