import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { KeyForm } from "./factor/key-form.tsx"
import {
  type Application,
  Cancel,
  FlowForm,
  Learns,
  type OfferedProvider,
  Providers,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type LoginNamePageProps = PageProps & {
  readonly form: Target
  readonly application?: Application | undefined
  /** What is to know before one signs in. */
  readonly notice?: string | undefined
  readonly loginName?: string | undefined
  readonly error?: string | undefined
  /** Asks for any passkey, where there can be one. */
  readonly passkey?: OfferedPasskey | undefined
  /** Where who has no account makes one; absent where nobody may. */
  readonly createHref?: string | undefined
  /** What else one can sign in with, each by its address. */
  readonly providers?: readonly OfferedProvider[] | undefined
}

/** A passkey of nobody's, as the browser is told of it; the id is base64url. */
export type UnknownKey = { readonly rpId: string; readonly credentialId: string }

export type OfferedPasskey = {
  readonly form: Target
  readonly challenge: string
  readonly options: string
  readonly error?: string | undefined
  /** The one that was shown last, which the browser should offer no more. */
  readonly unknownKey?: UnknownKey | undefined
}

/** First step: who are you? Posts `loginName`. */
export function LoginNamePage(props: LoginNamePageProps) {
  const { language, form, application, loginName, error } = props
  const t = props.t.on("login_name")
  const { passkey, providers = [], createHref, notice } = props
  const lead = application
    ? t("login_name.lead_application", { application: application.name })
    : t("login_name.lead")
  return (
    <Frame {...props} title={t("login_name.title")}>
      <Heading title={t("login_name.title")} lead={lead} />
      {notice && <Alert tone="warning">{notice}</Alert>}
      <FlowForm target={form}>
        <TextField
          label={t("login_name.label")}
          name="loginName"
          defaultValue={loginName}
          error={error}
          autoComplete="username webauthn"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="next"
          maxLength={200}
          required
          autoFocus
        />
        <Button kind="primary" type="submit" wide>
          {t("login_name.submit")}
        </Button>
      </FlowForm>
      {passkey && <Passkey t={t} passkey={passkey} />}
      <Providers t={t} providers={providers} />
      {createHref && (
        <p className="small">
          {t("register.question")} <a href={createHref}>{t("register.title")}</a>
        </p>
      )}
      <Cancel t={t} form={form} application={application} />
      {application && <Learns t={t} language={language} application={application} />}
    </Frame>
  )
}

type PasskeyProps = Pick<PageProps, "t"> & { readonly passkey: OfferedPasskey }

/** Signs in with any passkey. */
export function Passkey({ t, passkey }: PasskeyProps) {
  const { form, challenge, options, error, unknownKey } = passkey
  const asked = { target: form, options, error, hidden: { challenge } }
  const said = t.on("passkey")
  return (
    <div
      className="script-only"
      data-unknown-key={unknownKey ? JSON.stringify(unknownKey) : undefined}
    >
      <KeyForm t={said} mode="get" isOffered={error === undefined} {...asked}>
        <Button type="submit" wide>
          {said("passkey.sign_in")}
        </Button>
      </KeyForm>
    </div>
  )
}
