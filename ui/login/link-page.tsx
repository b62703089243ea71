import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { KeyForm } from "./factor/key-form.tsx"
import { type Account, AccountIdentity, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { type NewPasswordErrors, NewPasswordFields } from "./new-password-fields.tsx"
import type { PasswordRules } from "./password-rules.ts"
import type { TextKey } from "./texts/index.ts"

/** The user of a link, and the code from the link or as entered. */
export type Linked = {
  /** For a registration link, the ID of the link. */
  readonly userId: string
  readonly code: string
  /** The key in the link besides its code; empty for a code that was entered manually. */
  readonly key: string
  /** As in the link; for display only. */
  readonly organization: string
  /** The sign-in that requested the link; empty if there is none. */
  readonly request: string
}

/** The purpose of a link. */
export type LinkKind = "invite" | "reset" | "verify_email" | "verify_phone" | "register" | "sign_up"

/** The texts of a page; `onward` is shown with an invalid code. */
type LinkTexts = Readonly<
  Record<"title" | "lead" | "submit" | "code" | "missing" | "wrong", TextKey> &
    Record<"wrongTitle" | "happened" | "todo" | "onward", TextKey>
> & { readonly codeHint?: TextKey }

const commonTexts = {
  code: "link.code",
  missing: "link.error.missing",
  wrong: "link.error.wrong",
  wrongTitle: "link.wrong.title",
  happened: "link.wrong.happened",
} as const

const verifyTexts = {
  ...commonTexts,
  lead: "verify.lead",
  submit: "verify.submit",
  todo: "verify.wrong.todo",
  onward: "password.submit",
} as const

const textsByKind: Readonly<Record<LinkKind, LinkTexts>> = {
  invite: {
    title: "invite.title",
    lead: "invite.lead",
    submit: "invite.submit",
    code: "invite.code",
    missing: "invite.error.missing",
    wrong: "invite.error.wrong",
    wrongTitle: "invite.wrong.title",
    happened: "invite.wrong.happened",
    todo: "invite.wrong.todo",
    onward: "password.submit",
  },
  reset: {
    ...commonTexts,
    title: "password_change.title",
    lead: "reset.lead",
    submit: "invite.submit",
    todo: "reset.wrong.todo",
    onward: "reset.again",
  },
  register: {
    ...commonTexts,
    title: "forgot.sent.title",
    lead: "register.sent",
    submit: "invite.submit",
    todo: "register.wrong.todo",
    onward: "register.again",
  },
  sign_up: {
    ...commonTexts,
    title: "register.title",
    lead: "sign_up.lead",
    submit: "invite.submit",
    codeHint: "sign_up.code_hint",
    happened: "sign_up.wrong.happened",
    todo: "sign_up.wrong.todo",
    onward: "password.submit",
  },
  verify_email: { ...verifyTexts, title: "verify_email.title" },
  verify_phone: { ...verifyTexts, title: "verify_phone.title" },
}

/**
 * The code was invalid or missing, or there were too many attempts; then with the minutes to wait.
 */
export type LinkProblem = "wrong" | "missing" | { readonly minutes: number }

export type LinkPageProps = PageProps & {
  readonly kind: LinkKind
  readonly form: Target
  readonly linked: Linked
  readonly problem?: LinkProblem | undefined
  /** Where users without a valid code continue; absent if there is none. */
  readonly onwardHref?: string | undefined
}

/**
 * The page of a link. It reveals nothing until the code is verified. Posts `userId`,
 * `organization`, `request` and `code`.
 */
export function LinkPage(props: LinkPageProps) {
  const { kind, form, linked, problem, onwardHref } = props
  const t = props.t.on(kind)
  const texts = textsByKind[kind]
  const isWrong = problem === "wrong"
  const title = t(isWrong ? texts.wrongTitle : texts.title)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(isWrong ? texts.happened : texts.lead)} />
      {isWrong && <p>{t(texts.todo)}</p>}
      <FlowForm target={form}>
        <LinkedFields linked={linked} />
        <CodeField
          label={t(texts.code)}
          hint={t(texts.codeHint ?? "invite.code_hint")}
          code={linked.code}
          error={errorTextOf({ ...props, t })}
          autoCapitalize={kind === "sign_up" ? "none" : "characters"}
        />
        <Button kind="primary" type="submit" wide>
          {t(texts.submit)}
        </Button>
        {isWrong && onwardHref !== undefined && (
          <ButtonLink href={onwardHref} wide>
            {t(texts.onward)}
          </ButtonLink>
        )}
      </FlowForm>
    </Frame>
  )
}

function errorTextOf({ t, kind, problem }: LinkPageProps): string | undefined {
  if (problem === undefined) return undefined
  if (typeof problem === "string") return t(textsByKind[kind][problem])
  return t("password.error.too_many_tries", problem)
}

/** Hidden fields with the data of the link. */
function LinkedFields({ linked }: { readonly linked: Linked }) {
  return (
    <>
      <input type="hidden" name="userId" value={linked.userId} />
      <input type="hidden" name="organization" value={linked.organization} />
      {linked.request && <input type="hidden" name="request" value={linked.request} />}
      {linked.key && <input type="hidden" name="key" value={linked.key} />}
    </>
  )
}

type CodeFieldProps = {
  readonly label: string
  readonly hint: string
  readonly autoCapitalize: string
  readonly code: string
  readonly error: string | undefined
}

/** Filled from the fragment of the link, which only the browser sees. */
function CodeField({ label, hint, code, error, autoCapitalize }: CodeFieldProps) {
  if (code && !error) return <input type="hidden" name="code" value={code} />
  return (
    <div data-code-field="">
      <TextField
        label={label}
        hint={hint}
        name="code"
        defaultValue={code}
        error={error}
        data-from-link={error ? undefined : ""}
        autoComplete="off"
        autoCapitalize={autoCapitalize}
        autoCorrect="off"
        spellCheck={false}
        enterKeyHint="next"
        maxLength={128}
        required
      />
    </div>
  )
}

export type LinkPasswordPageProps = PageProps & {
  /**
   * The kind of page, which has its own texts; `register_org` for a user who creates an
   * organization.
   */
  readonly page: LinkKind | "register_org"
  readonly title: string
  readonly lead: string
  readonly submit: string
  readonly form: Target
  readonly linked: Linked
  readonly account: Account
  readonly rules: PasswordRules
  readonly errors?: NewPasswordErrors
  /** The passkey that can be registered instead of a password, if allowed. */
  readonly passkey?: FirstPasskey | undefined
}

/** A passkey for a new account; `options` are the creation options for the browser, as JSON. */
export type FirstPasskey = {
  readonly options: string
  readonly challenge: string
  readonly error?: string | undefined
  /** Before the password, or without one; absent: after it. */
  readonly place?: "first" | "only" | undefined
}

/**
 * Asks for a password or a passkey after the code was verified. Also posts the data of the link;
 * for a passkey `credential` and `challenge`.
 */
export function LinkPasswordPage(props: LinkPasswordPageProps) {
  const { page, title, lead, submit, form, linked, account, rules, errors, passkey } = props
  const { place } = passkey ?? {}
  const isWrong = errors?.password !== undefined || errors?.repeat !== undefined
  const t = props.t.on(page)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <div className="account-chip">
        <AccountIdentity account={account} />
      </div>
      {place && passkey && <PasskeyFirst t={t} form={form} linked={linked} passkey={passkey} />}
      {place !== "only" && (
        <FlowForm target={form}>
          <LinkedFields linked={linked} />
          <input type="hidden" name="code" value={linked.code} />
          <NewPasswordFields
            t={t}
            account={account}
            rules={rules}
            errors={errors}
            isFocused={!place || isWrong}
          />
          <Button kind={place ? "normal" : "primary"} type="submit" wide>
            {submit}
          </Button>
        </FlowForm>
      )}
      {!place && passkey && <Passkey t={t} form={form} linked={linked} passkey={passkey} />}
    </Frame>
  )
}

type PasskeyOptionProps = Pick<LinkPasswordPageProps, "t" | "form" | "linked"> & {
  readonly passkey: FirstPasskey
}

/** The passkey before the password; browsers without passkeys or scripts show only the password. */
function PasskeyFirst({ t, form, linked, passkey }: PasskeyOptionProps) {
  const { options, challenge, error, place } = passkey
  const hidden = { ...linked, challenge }
  const isOnly = place === "only"
  return (
    <div className={isOnly ? undefined : "script-only"}>
      <KeyForm
        t={t}
        mode="create"
        isOffered={!isOnly}
        target={form}
        options={options}
        hidden={hidden}
        error={error}
      >
        <p className="quiet small">{t("passkey_link.lead")}</p>
        <Button kind="primary" type="submit" wide>
          {t("invite.passkey")}
        </Button>
        {!isOnly && <p>{t("invite.or_password")}</p>}
      </KeyForm>
    </div>
  )
}

/** For browsers with scripts and passkeys; all others use the password. */
function Passkey({ t, form, linked, passkey }: PasskeyOptionProps) {
  const { options, challenge, error } = passkey
  const hidden = { ...linked, challenge }
  return (
    <div className="script-only">
      <KeyForm
        t={t}
        mode="create"
        isOffered
        target={form}
        options={options}
        hidden={hidden}
        error={error}
      >
        <p className="quiet small">{t("passkey_link.lead")}</p>
        <Button type="submit" wide>
          {t("register.passkey")}
        </Button>
      </KeyForm>
    </div>
  )
}
