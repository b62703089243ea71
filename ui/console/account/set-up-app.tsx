import { useState } from "react"
import {
  type AddMyAuthFactorOTPResponse,
  AuthService,
} from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { QrCode } from "../../kit/qr-code.tsx"
import { DialogForm } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call, useAction } from "../shell/call.ts"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"

/** An authenticator app gets its secret by the camera, and shows with a code that it has it. */
export function SetUpApp() {
  const { t } = useText()
  const [made, setMade] = useState<AddMyAuthFactorOTPResponse | undefined>(undefined)
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
      <Refused refusal={action.refusal} />
      {made && <Verify made={made} close={() => setMade(undefined)} />}
    </>
  )
}

type VerifyProps = {
  readonly made: AddMyAuthFactorOTPResponse
  readonly close: () => void
}

function Verify({ made, close }: VerifyProps) {
  const { t } = useText()
  const form = useForm({
    id: "otp",
    initial: { code: "" },
    secret: ["code"],
    refusals: { code: ["user.code", "user.totp", "code"] },
    save: ({ code }) => call(AuthService.method.verifyMyAuthFactorOTP, { code: code.trim() }),
    done: close,
  })
  return (
    <DialogForm
      title={t("account.otp.title")}
      submit={t("account.verify")}
      form={form}
      onCancel={close}
    >
      <p>{t("account.otp.how")}</p>
      <QrCode text={made.url} label={t("account.otp.picture")} />
      <p>
        {t("account.otp.key")} <code>{made.secret.replace(/(.{4})/g, "$1 ").trim()}</code>
      </p>
      <TextField
        label={t("account.code")}
        {...form.text("code")}
        autoComplete="one-time-code"
        inputMode="numeric"
        maxLength={10}
        required
        autoFocus
      />
    </DialogForm>
  )
}
