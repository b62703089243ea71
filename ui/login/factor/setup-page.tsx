import { Button, ButtonLink } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { QrCode } from "../../kit/qr-code.tsx"
import { type Account, AccountChip, FlowForm, type Target } from "../flow.tsx"
import { Frame, Heading, type PageProps } from "../frame.tsx"
import { KeyForm } from "./key-form.tsx"

/** Factors that can be set up during sign-in. */
export type SetupFactor = "passkey" | "u2f" | "otp" | "otp_email" | "otp_sms"

type SharedProps = PageProps & {
  readonly form: Target
  readonly account: Account
  readonly changeHref: string
}

export type FactorSetupPageProps = SharedProps & {
  readonly factors: readonly SetupFactor[]
  /** Whether the setup can't be skipped. */
  readonly isForced: boolean
  /**
   * The application that requires a second factor; absent if the user's organization requires it.
   */
  readonly application?: string | undefined
  /** Whether browsers don't support passkeys at our URL. */
  readonly isWebAuthnUnavailable: boolean
  readonly error?: string | undefined
}

/** Offers the factors to set up. Posts `factor`; "skip" to skip it. */
export function FactorSetupPage(props: FactorSetupPageProps) {
  const {
    form,
    account,
    changeHref,
    factors,
    isForced,
    application,
    isWebAuthnUnavailable,
    error,
  } = props
  const isPasskeyOnly = factors.length === 1 && factors[0] === "passkey"
  const t = props.t.on(isPasskeyOnly ? "passkey_only" : "factor_setup")
  const requiredLead = application
    ? t("factor_setup.application", { application })
    : t("factor_setup.forced")
  const lead = isForced ? requiredLead : t("factor_setup.lead")
  return (
    <Frame {...props} title={t("factor_setup.title")}>
      <Heading title={t("factor_setup.title")} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      {error && (
        <p className="alert alert-danger" role="alert">
          {error}
        </p>
      )}
      {isWebAuthnUnavailable && <p className="quiet">{t("factor_setup.no_keys")}</p>}
      {factors.length === 0 && <p>{t("factor_setup.none")}</p>}
      <FlowForm target={form}>
        {factors.map((method, index) => (
          <Button
            key={method}
            kind={index === 0 ? "primary" : "normal"}
            type="submit"
            name="factor"
            value={method}
            wide
          >
            {t(`factor_setup.way.${method}`)}
          </Button>
        ))}
        {!isForced && (
          <Button kind="plain" type="submit" name="factor" value="skip" wide>
            {t("factor_setup.skip")}
          </Button>
        )}
      </FlowForm>
    </Frame>
  )
}

export type TotpSetupPageProps = SharedProps & {
  /** Key URI, shown as a QR code. */
  readonly uri: string
  /** The same secret as text. */
  readonly secret: string
  readonly backHref: string
  readonly error?: string | undefined
}

/** Sets up an authenticator app and verifies its first code. Posts `factor` and `code`. */
export function TotpSetupPage(props: TotpSetupPageProps) {
  const { form, account, changeHref, uri, secret, backHref, error } = props
  const t = props.t.on("otp_setup")
  return (
    <Frame {...props} title={t("factor_setup.otp.title")}>
      <Heading title={t("factor_setup.otp.title")} lead={t("factor_setup.otp.lead")} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <QrCode text={uri} label={t("factor_setup.otp.picture")} />
      <p>
        {t("factor_setup.otp.key")} <code>{secret.replace(/(.{4})/g, "$1 ").trim()}</code>
      </p>
      <FlowForm target={form}>
        <input type="hidden" name="factor" value="otp" />
        <TextField
          label={t("factor.code")}
          name="code"
          error={error}
          autoComplete="one-time-code"
          inputMode="numeric"
          enterKeyHint="go"
          maxLength={10}
          required
        />
        <Button kind="primary" type="submit" wide>
          {t("factor.submit")}
        </Button>
      </FlowForm>
      <ButtonLink href={backHref} wide>
        {t("factor_setup.back")}
      </ButtonLink>
    </Frame>
  )
}

export type KeySetupPageProps = SharedProps & {
  readonly kind: "passkey" | "u2f"
  /** The creation options for the browser, as JSON. */
  readonly options: string
  readonly hidden: Readonly<Record<string, string>>
  readonly backHref?: string | undefined
  readonly error?: string | undefined
}

/** Registers a key. Posts the hidden fields and `credential`. */
export function KeySetupPage(props: KeySetupPageProps) {
  const { form, account, changeHref, kind, options, hidden, backHref, error } = props
  const t = props.t.on(`${kind}_setup`)
  const title = t(`factor_setup.way.${kind}`)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(`factor_setup.${kind}.lead`)} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <KeyForm t={t} target={form} mode="create" options={options} hidden={hidden} error={error}>
        <Button kind="primary" type="submit" wide>
          {t("factor.submit")}
        </Button>
      </KeyForm>
      {backHref && (
        <ButtonLink href={backHref} wide>
          {t("factor_setup.back")}
        </ButtonLink>
      )}
    </Frame>
  )
}
