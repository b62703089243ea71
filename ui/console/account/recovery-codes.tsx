import { useState } from "react"
import { SecondFactorType } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Alert, Badge, Button } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { OneTimeSecret } from "../list/index.ts"
import { call, Section, t } from "../shell/index.ts"
import { andSignIn } from "./sign-in-again.ts"

type RecoveryCodesProps = {
  readonly userId: string
  /** How many are left to use; absent for who has none. */
  readonly left: number | undefined
  readonly allowed: readonly SecondFactorType[]
  /** Whether there is another factor, which they replace. */
  readonly isBesideOther: boolean
}

/** From so many on, the user is warned. */
const few = 3

/** Codes on paper for the day when the phone is lost; each opens once. Shown once. */
export function RecoveryCodes({ userId, left, allowed, isBesideOther }: RecoveryCodesProps) {
  const [codes, setCodes] = useState<readonly string[]>([])
  const isSet = left !== undefined
  const isAccepted = allowed.includes(SecondFactorType.RECOVERY_CODES)
  const isAllowed = isAccepted && isBesideOther
  if (!isAllowed && !isSet) return null
  const make = async () => {
    const answer = await call(UserService.method.generateRecoveryCodes, { userId })
    setCodes(answer.recoveryCodes)
  }
  const remove = () => andSignIn(call(UserService.method.removeRecoveryCodes, { userId }))
  const title = t("account.recovery.title")
  const again = { what: title, consequence: t("account.recovery.again_text"), act: make }
  const actions = (
    <div className="row">
      {isSet && (
        <ConfirmButton
          needs="own"
          small
          what={title}
          consequence={t("account.factor_remove_text")}
          act={remove}
        />
      )}
      {isAllowed && !isSet && (
        <ActionButton needs="own" label={t("account.recovery.make")} act={make} />
      )}
      {isAllowed && isSet && (
        <ConfirmButton needs="own" small label={t("account.recovery.again")} {...again} />
      )}
    </div>
  )
  return (
    <Section title={title} actions={actions}>
      <p className="quiet section-lead">
        {t("account.recovery.text")}{" "}
        {isSet && (
          <Badge tone={left > few ? "done" : "warning"}>
            {t("account.recovery.left", { count: left })}
          </Badge>
        )}
      </p>
      {isSet && !isAccepted && <Alert tone="warning">{t("account.recovery.not_accepted")}</Alert>}
      {isAllowed && left === 0 && <Alert tone="warning">{t("account.recovery.none_left")}</Alert>}
      {codes.length > 0 && (
        <div className="stack print-alone">
          <OneTimeSecret
            title={title}
            file="recovery-codes.txt"
            secret={codes.join("\n")}
            warning={t("account.recovery.once")}
          />
          <div className="row">
            <Button small onClick={() => window.print()}>
              {t("account.print")}
            </Button>
          </div>
        </div>
      )}
    </Section>
  )
}
