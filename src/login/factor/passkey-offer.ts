import type { OfferedPasskey } from "../../../ui/login/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { challengeKey, hasKeys } from "../../domain/user/index.ts"
import { type LoginContext, targetOf } from "../context.ts"
import { loginPaths } from "../path.ts"
import { writeChallenge } from "./challenge.ts"

/** Asks on the first page for any passkey; undefined where nobody could use one. */
export function offeredPasskey(loginContext: LoginContext): OfferedPasskey | undefined {
  const { cx, browserContext, waiting } = loginContext
  const { allowPasswordless } = policyOf(cx, waiting?.asked.home ?? "", login)
  if (!allowPasswordless || !hasKeys(cx)) return undefined
  const { options, challenge } = challengeKey(cx, { userVerification: "required" })
  return {
    form: targetOf(loginContext, loginPaths.passkey),
    options: JSON.stringify(options),
    challenge: writeChallenge(cx, browserContext, { userId: "", challenge }),
  }
}
