import { Button } from "../kit/button.tsx"
import { PasswordField, TextField } from "../kit/field.tsx"
import { type Application, FlowForm, RequestedData, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type DirectoryPageProps = PageProps & {
  readonly form: Target
  readonly idpId: string
  /** The display name of the directory. */
  readonly provider: string
  readonly loginName?: string | undefined
  /** Posted when an account is to be linked. */
  readonly ticket?: string | undefined
  readonly error?: string | undefined
  readonly application?: Application | undefined
  /** Back to all sign-in options, or to the account page when linking. */
  readonly otherHref: string
}

/** Asks for directory credentials. Posts `idp`, `loginName` and `password`. */
export function DirectoryPage(props: DirectoryPageProps) {
  const { t, language, form, idpId, ticket, provider, loginName } = props
  const { error, application, otherHref } = props
  const title = t("login_name.provider", { provider })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("directory.lead", { provider })} />
      <FlowForm target={form}>
        <input type="hidden" name="idp" value={idpId} />
        {ticket && <input type="hidden" name="ticket" value={ticket} />}
        <TextField
          label={t("directory.name")}
          name="loginName"
          defaultValue={loginName}
          autoComplete="username"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          maxLength={200}
          required
          autoFocus={!loginName}
        />
        <PasswordField
          label={t("password.label")}
          show={t("password.show")}
          hide={t("password.hide")}
          name="password"
          error={error}
          autoComplete="current-password"
          enterKeyHint="go"
          required
          autoFocus={!!loginName}
        />
        <Button kind="primary" type="submit" wide>
          {t("password.submit")}
        </Button>
      </FlowForm>
      <p className="small">
        <a href={otherHref}>{t(ticket ? "consent.cancel" : "directory.other")}</a>
      </p>
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}
