import type { OfferedPasskey } from "../../../ui/login/index.ts"
import { areKeysSupported, type Challenge, challengeKey } from "../../domain/factor/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { ceremonyMs } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import { formTargetOf, type LoginContext } from "../context.ts"
import { loginPaths } from "../path.ts"
import type { BrowserContext } from "../session.ts"

const userVerification = "required"

/** The passkey challenge of the first page; undefined if no user can use one. */
export function offerPasskey(loginContext: LoginContext): OfferedPasskey | undefined {
  const { cx, browserContext, waiting } = loginContext
  const { allowPasswordless } = policyOf(cx, waiting?.asked.home ?? "", login)
  if (!allowPasswordless || !areKeysSupported(cx)) return undefined
  const until = `${cx.clock.now() + ceremonyMs}`
  const hash = cx.secrets.hash(until, hashContextOf(cx, browserContext))
  const { options } = challengeKey(cx, { userVerification, challenge: challengeIn(hash) })
  const form = formTargetOf(loginContext, loginPaths.passkey)
  return { form, options: JSON.stringify(options), challenge: `${until}.${hash}` }
}

/** The challenge of an offer; undefined if this browser did not receive it. */
export function challengeOfOffer(
  cx: Cx,
  browserContext: BrowserContext,
  offer: string,
): Challenge | undefined {
  const [, until = "", hash = ""] = /^(\d+)\.(.+)$/.exec(offer) ?? []
  if (!cx.secrets.matches(hash, until, hashContextOf(cx, browserContext))) return undefined
  const { challenge } = challengeKey(cx, { userVerification, challenge: challengeIn(hash) })
  return { ...challenge, expires: Number(until) }
}

/**
 * WebAuthn §13.4.3: the challenge must be unpredictable and created by the server. The first page
 * of every sign-in contains one, so it must be cheap: a keyed hash is cheaper than a seal, and the
 * content is no secret. Two pages of one browser within the same millisecond have the same
 * challenge, which can be used once.
 */
const challengeIn = (hash: string): string => hash.slice(hash.indexOf(".") + 1)

const hashContextOf = (cx: Cx, { browser }: BrowserContext): string =>
  `passkey/${cx.instance}/${browser.id}`
