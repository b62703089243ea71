import type { UnknownKey } from "../../../../ui/login/index.ts"
import { keyHolder, unknownKey } from "../../../domain/factor/index.ts"
import type { Transaction } from "../../../store/index.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { loginNames } from "../../part/login-name.ts"
import { challengeOffered } from "../../part/passkey.ts"
import { loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { attemptCheck, maySignInByPasskey } from "./attempt.ts"

/** GET, without anything shown: that is asked for on the first page. */
const askNoPasskey = (loginContext: LoginContext): Response =>
  goTo(hrefOf(loginContext, loginPaths.loginName))

/** A passkey signs in by itself, and tells whose it is. Nothing is said of why one does not. */
async function takePasskey(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext } = loginContext
  const given = fields.get("credential")
  const challenge = challengeOffered(cx, browserContext, fields.get("challenge"))
  const userId = keyHolder(cx, given)
  if (challenge?.kind !== "key") return refused(loginContext)
  if (userId === undefined) {
    const { rpId } = challenge
    const credentialId = unknownKey(cx, given)
    return refused(loginContext, credentialId === undefined ? undefined : { rpId, credentialId })
  }
  const asked = { userId, given, challenge }
  const isKeptOut = (tx: Transaction) => !maySignInByPasskey(tx, userId)
  const result = await attemptCheck(loginContext, "webauthn", asked, isKeptOut)
  if (result.kind === "in") return result.answer
  if (result.kind !== "too many") return refused(loginContext)
  const { retryAfterSeconds } = result
  return trouble(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
}

/**
 * A browser that offers a passkey of nobody's is told to forget it: one that was removed here would
 * be offered for good. Of one that is somebody's nothing is said.
 */
const refused = (loginContext: LoginContext, unknownKey?: UnknownKey): Response =>
  loginNames.next(loginContext, { hasWrongKey: true, ...(unknownKey && { unknownKey }) })

export const passkeyScreen: Screen = {
  path: loginPaths.passkey,
  get: askNoPasskey,
  post: takePasskey,
}
