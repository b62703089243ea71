import type { OfferedPasskey } from "../../../ui/login/index.ts"
import { type Challenge, challengeKey, hasKeys } from "../../domain/factor/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { ceremonyMs } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import { type LoginContext, targetOf } from "../context.ts"
import { loginPaths } from "../path.ts"
import type { BrowserContext } from "../session.ts"

const userVerification = "required"

/** Asks on the first page for any passkey; undefined where nobody could use one. */
export function offeredPasskey(loginContext: LoginContext): OfferedPasskey | undefined {
  const { cx, browserContext, waiting } = loginContext
  const { allowPasswordless } = policyOf(cx, waiting?.asked.home ?? "", login)
  if (!allowPasswordless || !hasKeys(cx)) return undefined
  const until = `${cx.clock.now() + ceremonyMs}`
  const hash = cx.secrets.hash(until, aboutOf(cx, browserContext))
  const { options } = challengeKey(cx, { userVerification, challenge: challengeIn(hash) })
  const form = targetOf(loginContext, loginPaths.passkey)
  return { form, options: JSON.stringify(options), challenge: `${until}.${hash}` }
}

/** What was asked for by an offer; undefined for anything that this browser was not offered. */
export function challengeOffered(
  cx: Cx,
  browserContext: BrowserContext,
  offer: string,
): Challenge | undefined {
  const [, until = "", hash = ""] = /^(\d+)\.(.+)$/.exec(offer) ?? []
  if (!cx.secrets.matches(hash, until, aboutOf(cx, browserContext))) return undefined
  const { challenge } = challengeKey(cx, { userVerification, challenge: challengeIn(hash) })
  return { ...challenge, expires: Number(until) }
}

/**
 * WebAuthn §13.4.3: nobody can tell beforehand what a key shall sign, and it is made here alone.
 * The first page of every sign-in asks for it, so it must cost next to nothing: a keyed hash is
 * much cheaper than a seal, and nothing in it is a secret. Two pages that one browser gets within
 * the same millisecond have the same, of which one counts.
 */
const challengeIn = (hash: string): string => hash.slice(hash.indexOf(".") + 1)

const aboutOf = (cx: Cx, { browser }: BrowserContext): string =>
  `passkey/${cx.instance}/${browser.id}`
