import { useState } from "react"
import {
  type AddMyAuthFactorOTPResponse,
  AuthService,
} from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button, QrCode } from "../../kit/index.ts"
import { defineForm } from "../form/index.ts"
import { call, RefusalAlert, t, useAction } from "../shell/index.ts"

/** Shows the secret as a QR code; the user verifies it with a code. */
export function SetUpAuthenticatorApp() {
  const [created, setMade] = useState<AddMyAuthFactorOTPResponse | undefined>(undefined)
  const action = useAction(() => call(AuthService.method.addMyAuthFactorOTP), setMade)
  return (
    <>
      <Button
        small
        aria-label={`${t("account.set_up")}: ${t("account.otp.title")}`}
        disabled={action.busy}
        onClick={() => action.run()}
      >
        {t("account.set_up")}
      </Button>
      <RefusalAlert refusal={action.refusal} />
      {created &&
        verifyForm(created)({
          id: "otp",
          title: t("account.otp.title"),
          close: () => setMade(undefined),
        })}
    </>
  )
}

const verifyForm = ({ url, secret }: AddMyAuthFactorOTPResponse) =>
  defineForm({
    initial: { code: "" },
    secret: ["code"],
    refusals: { code: ["user.code", "user.totp", "code"] },
    save: ({ code }) => call(AuthService.method.verifyMyAuthFactorOTP, { code: code.trim() }),
    submit: t("account.verify"),
    fields: ({ text }) => (
      <>
        <p>{t("account.otp.how")}</p>
        <QrCode text={url} label={t("account.otp.picture")} />
        <p>
          {t("account.otp.key")} <code>{secret.replace(/(.{4})/g, "$1 ").trim()}</code>
        </p>
        {text("code", t("account.code"), {
          autoComplete: "one-time-code",
          inputMode: "numeric",
          maxLength: 10,
          required: true,
        })}
      </>
    ),
  })
