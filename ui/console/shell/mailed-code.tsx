import { useState } from "react"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { Alert, Button, TextField } from "../../kit/index.ts"
import { call, useAction } from "./call.ts"
import { refusalText } from "./refusal-text.ts"
import { t } from "./text.ts"

const { sendAccountCode, verifyAccountCode } = ActivityService.method

/**
 * Confirms the user's identity with an emailed code, as an alternative to signing in again. Used
 * within forms, so it isn't a form itself.
 */
export function MailedCode() {
  const [email, setEmail] = useState("")
  const [code, setCode] = useState("")
  const [isConfirmed, setConfirmed] = useState(false)
  const send = useAction(
    () => call(sendAccountCode, {}),
    (answer) => setEmail(answer.email),
  )
  const check = useAction(
    () => call(verifyAccountCode, { code: code.trim() }),
    () => setConfirmed(true),
  )
  const refusal = check.refusal ?? send.refusal
  if (isConfirmed) return <p>{t("gate.confirmed")}</p>
  return (
    <div className="stack">
      <p className="small">{email ? t("gate.sent", { email }) : t("gate.mail_hint")}</p>
      {email && (
        <TextField
          label={t("gate.code")}
          value={code}
          autoComplete="one-time-code"
          maxLength={20}
          onChange={({ target }) => setCode(target.value)}
        />
      )}
      <div className="form-actions">
        {email && (
          <Button small disabled={check.busy || code.trim() === ""} onClick={() => check.run()}>
            {t("gate.confirm")}
          </Button>
        )}
        <Button small kind="plain" disabled={send.busy} onClick={() => send.run()}>
          {t("gate.mail")}
        </Button>
      </div>
      {refusal && <Alert tone="danger">{refusalText(refusal)}</Alert>}
    </div>
  )
}
