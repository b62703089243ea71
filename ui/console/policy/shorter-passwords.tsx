import { Alert } from "../../kit/index.ts"
import { ActionButton } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { at, usePolicy } from "./effective-policy.ts"
import { login } from "./login-policy.ts"
import type { MoreProps } from "./policy.ts"

/** The least length of a password alone, and beside another factor (NIST SP 800-63B-4 §3.1.1.1). */
const [alone, besideFactor] = [15, 8]

/** Offers shorter passwords where the sign-in settings require a second factor of everybody. */
export function ShorterPasswords({ place, values, isHere, change }: MoreProps) {
  const needsFactor = usePolicy(login, place)?.values ?? {}
  const isForced = needsFactor.forceMfa === true || needsFactor.forceMfaLocalOnly === true
  if (!isHere || !isForced || Number(values.minLength) < alone) return null
  const kinds = Object.fromEntries(
    Object.entries(values).filter(([, value]) => typeof value === "boolean"),
  )
  const shorter = {
    ...kinds,
    minLength: besideFactor,
    reuseCount: Number(values.reuseCount),
  }
  return (
    <Alert tone="done" title={t("policy.complexity.shorter")}>
      <p>{t("policy.complexity.shorter_text")}</p>
      <ActionButton
        needs={change}
        label={t("policy.complexity.shorter_act")}
        act={() => call(change, shorter, at(place))}
      />
    </Alert>
  )
}
