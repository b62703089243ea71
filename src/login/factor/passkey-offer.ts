import type { OfferedPasskey } from "../../../ui/login/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { challengeKey, hasKeys } from "../../domain/user/index.ts"
import { type LoginContext, targetOf } from "../context.ts"
import { loginPaths } from "../path.ts"
import { writeChallenge } from "./challenge.ts"

/** `own` are the words in it that no other browser is given. */
type Offered = { readonly passkey: OfferedPasskey; readonly own: readonly string[] }

/** Asks on the first page for any passkey; undefined where nobody could use one. */
export function offeredPasskey(loginContext: LoginContext): Offered | undefined {
  const { cx, browserContext, waiting } = loginContext
  const { allowPasswordless } = policyOf(cx, waiting?.asked.home ?? "", login)
  if (!allowPasswordless || !hasKeys(cx)) return undefined
  const { options, challenge } = challengeKey(cx, { userVerification: "required" })
  const sealed = writeChallenge(cx, browserContext, { userId: "", challenge })
  const form = targetOf(loginContext, loginPaths.passkey)
  return {
    passkey: { form, options: JSON.stringify(options), challenge: sealed },
    own: [challenge.challenge, sealed],
  }
}
