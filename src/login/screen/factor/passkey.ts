import type { UnknownKey } from "../../../../ui/login/index.ts"
import { findKeyOwner, findUnknownCredentialId } from "../../../domain/factor/index.ts"
import type { Transaction } from "../../../store/index.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { loginNameState } from "../../part/login-name.ts"
import { challengeOfOffer } from "../../part/passkey.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { attemptCheck, canSignInByPasskey } from "./attempt.ts"

/** GET: redirects to the first page, which asks for the passkey. */
const redirectToFirstPage = (loginContext: LoginContext): Response =>
  redirectTo(hrefOf(loginContext, loginPaths.loginName))

/** A passkey signs in and identifies its user. Why one is rejected is not revealed. */
async function postPasskey(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext } = loginContext
  const given = fields.get("credential")
  const challenge = challengeOfOffer(cx, browserContext, fields.get("challenge"))
  const userId = findKeyOwner(cx, given)
  if (challenge?.kind !== "key") return rejectPasskey(loginContext)
  if (userId === undefined) {
    const { rpId } = challenge
    const credentialId = findUnknownCredentialId(cx, given)
    return rejectPasskey(
      loginContext,
      credentialId === undefined ? undefined : { rpId, credentialId },
    )
  }
  const input = { userId, given, challenge }
  const isKeptOut = (tx: Transaction) => !canSignInByPasskey(tx, userId)
  const result = await attemptCheck(loginContext, "webauthn", input, isKeptOut)
  if (result.kind === "in") return result.answer
  if (result.kind !== "too many") return rejectPasskey(loginContext)
  const { retryAfterSeconds } = result
  return showProblem(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
}

/**
 * Asks the browser to remove a passkey that is unknown here; otherwise a removed one would be
 * offered forever. Nothing is revealed about a passkey that exists.
 */
const rejectPasskey = (loginContext: LoginContext, unknownKey?: UnknownKey): Response =>
  loginNameState.next(loginContext, { hasWrongKey: true, ...(unknownKey && { unknownKey }) })

export const passkeyScreen: Screen = {
  path: loginPaths.passkey,
  get: redirectToFirstPage,
  post: postPasskey,
}
