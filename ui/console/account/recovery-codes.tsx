import { useState } from "react"
import { SecondFactorType } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Alert, Badge, Button } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { OneTimeSecret } from "../list/index.ts"
import { call, Section, t } from "../shell/index.ts"
import { thenSignIn } from "./sign-in-again.ts"

type RecoveryCodesProps = {
  readonly userId: string
  /** Number of unused codes; undefined if there are none. */
  readonly remaining: number | undefined
  readonly allowed: readonly SecondFactorType[]
  /** Whether the user has another factor, which recovery codes replace. */
  readonly isBesideOther: boolean
}

/** Number of remaining codes below which a warning is shown. */
const warningThreshold = 3

/** Single-use codes for when the user loses the other factors; shown only once. */
export function RecoveryCodes({ userId, remaining, allowed, isBesideOther }: RecoveryCodesProps) {
  const [codes, setCodes] = useState<readonly string[]>([])
  const isSet = remaining !== undefined
  const isAccepted = allowed.includes(SecondFactorType.RECOVERY_CODES)
  const isAllowed = isAccepted && isBesideOther
  if (!isAllowed && !isSet) return null
  const make = async () => {
    const answer = await call(UserService.method.generateRecoveryCodes, { userId })
    setCodes(answer.recoveryCodes)
  }
  const remove = () => thenSignIn(call(UserService.method.removeRecoveryCodes, { userId }))
  const title = t("account.recovery.title")
  const again = { subject: title, consequence: t("account.recovery.again_text"), act: make }
  const actions = (
    <div className="row">
      {isSet && (
        <ConfirmButton
          needs="own"
          small
          subject={title}
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
          <Badge tone={remaining > warningThreshold ? "done" : "warning"}>
            {t("account.recovery.left", { count: remaining })}
          </Badge>
        )}
      </p>
      {isSet && !isAccepted && <Alert tone="warning">{t("account.recovery.not_accepted")}</Alert>}
      {isAllowed && remaining === 0 && (
        <Alert tone="warning">{t("account.recovery.none_left")}</Alert>
      )}
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
