import { Button, ButtonLink } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  Cancel,
  FlowForm,
  RequestedData,
  type Target,
} from "../flow.tsx"
import { Frame, Heading, type PageProps } from "../frame.tsx"
import { KeyForm } from "./key-form.tsx"

/** The kinds of second factors. */
export type FactorKind = "key" | "otp" | "otp_email" | "otp_sms" | "recovery_codes"

export type FactorPageProps = PageProps & {
  readonly form: Target
  readonly kind: FactorKind
  /** Posted unchanged. */
  readonly factor: string
  readonly account: Account
  readonly changeHref: string
  readonly application?: Application | undefined
  /** The sealed challenge; absent before a code is sent. */
  readonly challenge?: string | undefined
  /** For a key: the request options for the browser, as JSON. */
  readonly options?: string | undefined
  readonly error?: string | undefined
  readonly others: readonly { readonly kind: FactorKind; readonly href: string }[]
}

/** The second factor. Posts `factor`, `challenge`, and `code`, `credential` or `send`. */
export function FactorPage(props: FactorPageProps) {
  const { language, account, changeHref, application, kind, others } = props
  const t = props.t.on(props.factor)
  return (
    <Frame {...props} title={t("factor.title")}>
      <Heading title={t("factor.title")} lead={t(`factor.lead.${kind}`)} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      {kind === "key" ? <KeyFactor {...props} t={t} /> : <CodeFactor {...props} t={t} />}
      {others.length > 0 && (
        <div className="stack stack-tight">
          <p className="quiet">{t("factor.other")}</p>
          {others.map((other) => (
            <ButtonLink key={other.href} href={other.href} wide>
              {t(`factor.way.${other.kind}`)}
            </ButtonLink>
          ))}
        </div>
      )}
      <Cancel t={t} form={props.form} application={application} />
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}

function KeyFactor({ t, form, factor, challenge = "", options = "", error }: FactorPageProps) {
  const hidden = { factor, challenge }
  return (
    <KeyForm t={t} target={form} mode="get" options={options} hidden={hidden} error={error}>
      <Button kind="primary" type="submit" wide>
        {t("factor.use_key")}
      </Button>
    </KeyForm>
  )
}

function CodeFactor({ t, form, kind, factor, challenge, error }: FactorPageProps) {
  const isSent = kind === "otp_email" || kind === "otp_sms"
  const send = (
    <FlowForm target={form}>
      <input type="hidden" name="factor" value={factor} />
      <input type="hidden" name="send" value="code" />
      {!challenge && error && (
        <p className="alert alert-danger" role="alert">
          {error}
        </p>
      )}
      <Button kind={challenge ? "normal" : "primary"} type="submit" wide>
        {t(challenge ? "factor.send_again" : "factor.send")}
      </Button>
    </FlowForm>
  )
  if (isSent && !challenge) return send
  return (
    <>
      <FlowForm target={form}>
        <input type="hidden" name="factor" value={factor} />
        <input type="hidden" name="challenge" value={challenge ?? ""} />
        <TextField
          label={t("factor.code")}
          name="code"
          error={error}
          autoComplete={kind === "recovery_codes" ? "off" : "one-time-code"}
          inputMode={kind === "recovery_codes" ? "text" : "numeric"}
          autoCapitalize="characters"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="go"
          maxLength={40}
          required
          autoFocus
        />
        <Button kind="primary" type="submit" wide>
          {t("factor.submit")}
        </Button>
      </FlowForm>
      {isSent && send}
    </>
  )
}
