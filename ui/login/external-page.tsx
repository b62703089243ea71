import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { type Account, AccountIdentity, type Application, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type ExternalPageProps = PageProps & {
  readonly form: Target
  readonly intentId: string
  readonly provider: string
  readonly identity: {
    readonly userName: string
    readonly givenName: string
    readonly familyName: string
    readonly displayName: string
    readonly email: string
  }
  readonly mayLink: boolean
  readonly mayCreate: boolean
  /** Whether password sign-in is enabled, so that an account can be linked with its password. */
  readonly hasPasswords?: boolean
  /** Whether the allowed domains of the provider prevent a new account. */
  readonly isDomainRefused: boolean
  /** Signed-in accounts that can be linked immediately. */
  readonly accounts: readonly (Account & { readonly session: string })[]
  readonly problem?: "wrong" | "busy" | "taken" | "factor" | undefined
  readonly application?: Application | undefined
}

/** For an external account that is not linked: asks whether the user is new or has an account. */
export function ExternalPage(props: ExternalPageProps) {
  const { t, provider, identity, mayLink, mayCreate, isDomainRefused, problem } = props
  const name = identity.displayName || identity.email || identity.userName
  return (
    <Frame {...props} title={t("external.title")}>
      <Heading title={t("external.title")} lead={t("external.lead", { provider, name })} />
      {problem && <Alert tone="warning">{t(`external.error.${problem}`, { provider })}</Alert>}
      {isDomainRefused && <Alert tone="warning">{t("external.domain", { provider })}</Alert>}
      {mayLink && <LinkForm {...props} />}
      {mayCreate && <CreateForm {...props} />}
    </Frame>
  )
}

function LinkForm({
  t: translate,
  form,
  intentId,
  provider,
  accounts,
  ...page
}: ExternalPageProps) {
  const t = translate.on(accounts.length > 0 ? "account" : "login_name")
  return (
    <section className="stack">
      <h2>{t("external.link_title")}</h2>
      <p className="quiet">{t("external.link_lead", { provider })}</p>
      {accounts.length > 0 && (
        <FlowForm target={form}>
          <input type="hidden" name="intent" value={intentId} />
          <input type="hidden" name="choice" value="link" />
          <ul className="account-list">
            {accounts.map((account) => (
              <li key={account.session}>
                <button
                  type="submit"
                  name="session"
                  value={account.session}
                  className="account-row"
                >
                  <AccountIdentity account={account} />
                </button>
              </li>
            ))}
          </ul>
        </FlowForm>
      )}
      {page.hasPasswords !== false && <PasswordAccount t={t} form={form} intentId={intentId} />}
      {page.hasPasswords === false && accounts.length === 0 && (
        <p>{t("external.error.factor", { provider })}</p>
      )}
    </section>
  )
}

/** Links an account by login name and password. */
function PasswordAccount({
  t,
  form,
  intentId,
}: Pick<ExternalPageProps, "t" | "form" | "intentId">) {
  return (
    <FlowForm target={form}>
      <input type="hidden" name="intent" value={intentId} />
      <input type="hidden" name="choice" value="link" />
      <TextField
        label={t("login_name.label")}
        name="loginName"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={200}
        required
      />
      <TextField
        label={t("password.label")}
        name="password"
        type="password"
        autoComplete="current-password"
        required
      />
      <Button kind="primary" type="submit" wide>
        {t("external.link_submit")}
      </Button>
    </FlowForm>
  )
}

function CreateForm({ t: translate, form, intentId, identity }: ExternalPageProps) {
  const t = translate.on("external_new")
  const { givenName, familyName, email, userName } = identity
  return (
    <section className="stack">
      <h2>{t("external.create_title")}</h2>
      <FlowForm target={form}>
        <input type="hidden" name="intent" value={intentId} />
        <input type="hidden" name="choice" value="create" />
        <TextField
          label={t("external.given_name")}
          name="givenName"
          defaultValue={givenName}
          autoComplete="given-name"
          maxLength={200}
          required
        />
        <TextField
          label={t("external.family_name")}
          name="familyName"
          defaultValue={familyName}
          autoComplete="family-name"
          maxLength={200}
          required
        />
        <TextField
          label={t("external.email")}
          name="email"
          type="email"
          defaultValue={email}
          autoComplete="email"
          maxLength={200}
          required
        />
        <TextField
          label={t("login_name.label")}
          name="userName"
          defaultValue={userName || email}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={200}
          required
        />
        <Button type="submit" wide>
          {t("external.create_submit")}
        </Button>
      </FlowForm>
    </section>
  )
}
