import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { Person } from "../kit/person.tsx"
import { type Account, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { type NewPasswordErrors, NewPasswordFields } from "./new-password-fields.tsx"
import type { PasswordRules } from "./password-rules.ts"

/** Whom a link invites, and the code that it brought or somebody typed. */
export type Invited = {
  readonly userId: string
  readonly code: string
  /** As the link says it; nothing hangs from it but whose page it looks like. */
  readonly organization: string
}

export type InvitePageProps = PageProps & {
  readonly form: Target
  readonly invited: Invited
  readonly error?: string | undefined
  /** What was shown was no code that is good. */
  readonly isWrong?: boolean
  readonly signInHref: string
}

/**
 * Where the link of an invitation leads. It says nothing of anybody before the code is known to be
 * right. Posts `userId`, `organization` and `code`.
 */
export function InvitePage(props: InvitePageProps) {
  const { t, form, invited, error, isWrong = false, signInHref } = props
  const title = isWrong ? t("invite.wrong.title") : t("invite.title")
  const { userId, organization } = invited
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={isWrong ? t("invite.wrong.happened") : t("invite.lead")} />
      {isWrong && <p>{t("invite.wrong.todo")}</p>}
      <FlowForm target={form}>
        <input type="hidden" name="userId" value={userId} />
        <input type="hidden" name="organization" value={organization} />
        <CodeField t={t} code={invited.code} error={error} />
        <Button kind="primary" type="submit" wide>
          {t("invite.submit")}
        </Button>
        {isWrong && (
          <ButtonLink href={signInHref} wide>
            {t("password.submit")}
          </ButtonLink>
        )}
      </FlowForm>
    </Frame>
  )
}

type CodeFieldProps = Pick<InvitePageProps, "t" | "error"> & { readonly code: string }

/** Filled from the part of the link behind the #, which only the browser sees. */
function CodeField({ t, code, error }: CodeFieldProps) {
  if (code && !error) return <input type="hidden" name="code" value={code} />
  return (
    <div data-code-field="">
      <TextField
        label={t("invite.code")}
        hint={t("invite.code_hint")}
        name="code"
        defaultValue={code}
        error={error}
        data-from-link={error ? undefined : ""}
        autoComplete="off"
        autoCapitalize="characters"
        autoCorrect="off"
        spellCheck={false}
        enterKeyHint="next"
        maxLength={128}
        required
      />
    </div>
  )
}

export type InvitePasswordPageProps = PageProps & {
  readonly form: Target
  readonly invited: Invited
  readonly account: Account
  readonly organization: string
  /** What they are invited to, where that was said. */
  readonly application: string
  readonly rules: PasswordRules
  readonly errors?: NewPasswordErrors
}

/** Who invites to what, and as whom; the first password. Posts what brought it here, as well. */
export function InvitePasswordPage(props: InvitePasswordPageProps) {
  const { t, form, invited, account, organization, application, rules, errors } = props
  const lead = application
    ? t("invite.password.lead_application", { organization, application })
    : t("invite.password.lead", { organization })
  return (
    <Frame {...props} title={t("invite.password.title")}>
      <Heading title={t("invite.password.title")} lead={lead} />
      <div className="account-chip">
        <Person name={account.displayName} loginName={account.loginName} />
      </div>
      <FlowForm target={form}>
        <input type="hidden" name="userId" value={invited.userId} />
        <input type="hidden" name="organization" value={invited.organization} />
        <input type="hidden" name="code" value={invited.code} />
        <NewPasswordFields {...{ t, account, rules, errors }} />
        <Button kind="primary" type="submit" wide>
          {t("password_change.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}
