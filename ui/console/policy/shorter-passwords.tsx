import { Alert } from "../../kit/index.ts"
import { ActionButton } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { usePolicy, withinOwner } from "./effective-policy.ts"
import { loginPolicy } from "./login-policy.ts"
import type { PolicyPartProps } from "./policy.ts"

/** Minimum length of a password alone and with another factor (NIST SP 800-63B-4 §3.1.1.1). */
const [lengthAlone, lengthWithFactor] = [15, 8]

/** Suggests shorter passwords if the login policy requires a second factor from everyone. */
export function ShorterPasswords({ owner, values, isOwn, change }: PolicyPartProps) {
  const needsFactor = usePolicy(loginPolicy, owner)?.values ?? {}
  const isForced = needsFactor.forceMfa === true || needsFactor.forceMfaLocalOnly === true
  if (!isOwn || !isForced || Number(values.minLength) < lengthAlone) return null
  const kinds = Object.fromEntries(
    Object.entries(values).filter(([, value]) => typeof value === "boolean"),
  )
  const shorter = {
    ...kinds,
    minLength: lengthWithFactor,
    reuseCount: Number(values.reuseCount),
  }
  return (
    <Alert tone="done" title={t("policy.complexity.shorter")}>
      <p>{t("policy.complexity.shorter_text")}</p>
      <ActionButton
        needs={change}
        label={t("policy.complexity.shorter_act")}
        act={() => call(change, shorter, withinOwner(owner))}
      />
    </Alert>
  )
}
