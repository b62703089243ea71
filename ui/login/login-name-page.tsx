import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { KeyForm } from "./factor/key-form.tsx"
import {
  type Application,
  Cancel,
  FlowForm,
  type OfferedProvider,
  Providers,
  RequestedData,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type LoginNamePageProps = PageProps & {
  readonly form: Target
  readonly application?: Application | undefined
  /** A notice above the form. */
  readonly notice?: string | undefined
  readonly loginName?: string | undefined
  readonly error?: string | undefined
  /** The passkey option, if available. */
  readonly passkey?: OfferedPasskey | undefined
  /** The registration page; absent if users can't register. */
  readonly createHref?: string | undefined
  /** Providers for sign-in, each with its URL. */
  readonly providers?: readonly OfferedProvider[] | undefined
}

/** An unknown passkey, for a signal to the browser; the ID is base64url. */
export type UnknownKey = { readonly rpId: string; readonly credentialId: string }

export type OfferedPasskey = {
  readonly form: Target
  readonly challenge: string
  readonly options: string
  readonly error?: string | undefined
  /** The last presented passkey, which the browser should no longer offer. */
  readonly unknownKey?: UnknownKey | undefined
}

/** The first step of a sign-in. Posts `loginName`. */
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
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}

type PasskeyProps = Pick<PageProps, "t"> & { readonly passkey: OfferedPasskey }

/** Signs in with any passkey. */
export function Passkey({ t, passkey }: PasskeyProps) {
  const { form, challenge, options, error, unknownKey } = passkey
  const keyForm = { target: form, options, error, hidden: { challenge } }
  const passkeyTexts = t.on("passkey")
  return (
    <div
      className="script-only"
      data-unknown-key={unknownKey ? JSON.stringify(unknownKey) : undefined}
    >
      <KeyForm t={passkeyTexts} mode="get" isOffered={error === undefined} {...keyForm}>
        <Button type="submit" wide>
          {passkeyTexts("passkey.sign_in")}
        </Button>
      </KeyForm>
    </div>
  )
}
