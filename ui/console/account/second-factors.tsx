import type { ReactNode } from "react"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { SecondFactorType } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { type AuthFactor, AuthFactorState } from "../../../src/gen/core/user/v1/user_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { call, Section, t, useRead } from "../shell/index.ts"
import { AddKey } from "./add-key.tsx"
import { SetUpAuthenticatorApp } from "./authenticator-app.tsx"
import { areKeysSupported } from "./create-key.ts"
import { KeyList } from "./key-list.tsx"
import { thenSignIn } from "./sign-in-again.ts"

type FactorsProps = { readonly allowed: readonly SecondFactorType[] }

/** Second factors of the user; factors that the organization doesn't allow are hidden. */
export function SecondFactors({ allowed }: FactorsProps) {
  const { result } = useRead(AuthService.method.listMyAuthFactors)
  const ready = result.filter(({ state }) => state === AuthFactorState.READY)
  const has = (kind: AuthFactor["type"]["case"]) => ready.some(({ type }) => type.case === kind)
  const { OTP, OTP_EMAIL, OTP_SMS, U2F } = SecondFactorType
  const { addMyAuthFactorOTPEmail, removeMyAuthFactorOTPEmail } = AuthService.method
  const { addMyAuthFactorOTPSMS, removeMyAuthFactorOTPSMS } = AuthService.method
  return (
    <Section title={t("account.factors")}>
      <p className="quiet section-lead">{t("account.factors_text")}</p>
      <div className="stack stack-wide">
        <SingleFactor
          factorKind="otp"
          isOn={has("otp")}
          isAllowed={allowed.includes(OTP)}
          add={<SetUpAuthenticatorApp />}
          remove={() => call(AuthService.method.removeMyAuthFactorOTP)}
        />
        <SecurityKeys allowed={allowed.includes(U2F)} ready={ready} />
        <SingleFactor
          factorKind="otp_email"
          isOn={has("otpEmail")}
          isAllowed={allowed.includes(OTP_EMAIL)}
          add={<EnableButton act={() => call(addMyAuthFactorOTPEmail)} />}
          remove={() => call(removeMyAuthFactorOTPEmail)}
        />
        <SingleFactor
          factorKind="otp_sms"
          isOn={has("otpSms")}
          isAllowed={allowed.includes(OTP_SMS)}
          add={<EnableButton act={() => call(addMyAuthFactorOTPSMS)} />}
          remove={() => call(removeMyAuthFactorOTPSMS)}
        />
      </div>
    </Section>
  )
}

function EnableButton({ act }: { readonly act: () => Promise<unknown> }) {
  return <ActionButton needs="own" label={t("action.turn_on")} act={act} />
}

type SingleFactorProps = {
  readonly factorKind: "otp" | "otp_email" | "otp_sms"
  readonly isOn: boolean
  readonly isAllowed: boolean
  readonly add: ReactNode
  readonly remove: () => Promise<unknown>
}

/** A factor that a user can have once. */
function SingleFactor({ factorKind, isOn, isAllowed, add, remove }: SingleFactorProps) {
  if (!isOn && !isAllowed) return null
  const name = t(`account.${factorKind}.title`)
  return (
    <div className="way">
      <div className="way-text">
        <h3>
          {name} {isOn && <Badge tone="done">{t("detail.on")}</Badge>}
        </h3>
        <p className="quiet">{t(`account.${factorKind}.text`)}</p>
      </div>
      {isOn ? (
        <ConfirmButton
          needs="own"
          small
          subject={name}
          consequence={t("account.factor_remove_text")}
          act={() => thenSignIn(remove())}
        />
      ) : (
        add
      )}
    </div>
  )
}

type SecurityKeysProps = { readonly allowed: boolean; readonly ready: readonly AuthFactor[] }

function SecurityKeys({ allowed, ready }: SecurityKeysProps) {
  const keys = ready.flatMap(({ type }) => (type.case === "u2f" ? [type.value] : []))
  if (!allowed && keys.length === 0) return null
  return (
    <div className="stack">
      <div className="way">
        <div className="way-text">
          <h3>{t("account.u2f.title")}</h3>
          <p className="quiet">
            {t(areKeysSupported() ? "account.u2f.text" : "account.no_keys_here")}
          </p>
        </div>
        {allowed && areKeysSupported() && <AddKey kind="u2f" />}
      </div>
      <KeyList
        keys={keys}
        unnamed={t("ways.u2f")}
        consequence={t("account.factor_remove_text")}
        remove={({ id: tokenId }) => call(AuthService.method.removeMyAuthFactorU2F, { tokenId })}
      />
    </div>
  )
}
