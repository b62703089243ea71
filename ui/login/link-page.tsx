import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { KeyForm } from "./factor/key-form.tsx"
import { type Account, AccountPerson, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { type NewPasswordErrors, NewPasswordFields } from "./new-password-fields.tsx"
import type { PasswordRules } from "./password-rules.ts"
import type { TextKey } from "./texts/index.ts"

/** Whom a link is for, and the code that it brought or somebody typed. */
export type Linked = {
  /** Of a sign-up link, the ID of the link. */
  readonly userId: string
  readonly code: string
  /** What the link carries beside its code; empty for a code that is typed from elsewhere. */
  readonly key: string
  /** As the link says it; nothing hangs from it. */
  readonly organization: string
  /** The sign-in that the link was asked for in; empty where in none. */
  readonly request: string
}

/** What a link is for. */
export type LinkKind = "invite" | "reset" | "verify_email" | "verify_phone" | "register" | "sign_up"

/** What its page says; `onward` where a code is no good. */
type Words = Readonly<
  Record<"title" | "lead" | "submit" | "code" | "missing" | "wrong", TextKey> &
    Record<"wrongTitle" | "happened" | "todo" | "onward", TextKey>
> & { readonly codeHint?: TextKey }

const usual = {
  code: "link.code",
  missing: "link.error.missing",
  wrong: "link.error.wrong",
  wrongTitle: "link.wrong.title",
  happened: "link.wrong.happened",
} as const

const verify = {
  ...usual,
  lead: "verify.lead",
  submit: "verify.submit",
  todo: "verify.wrong.todo",
  onward: "password.submit",
} as const

const words: Readonly<Record<LinkKind, Words>> = {
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
    ...usual,
    title: "password_change.title",
    lead: "reset.lead",
    submit: "invite.submit",
    todo: "reset.wrong.todo",
    onward: "reset.again",
  },
  register: {
    ...usual,
    title: "forgot.sent.title",
    lead: "register.sent",
    submit: "invite.submit",
    todo: "register.wrong.todo",
    onward: "register.again",
  },
  sign_up: {
    ...usual,
    title: "register.title",
    lead: "sign_up.lead",
    submit: "invite.submit",
    codeHint: "sign_up.code_hint",
    happened: "sign_up.wrong.happened",
    todo: "sign_up.wrong.todo",
    onward: "password.submit",
  },
  verify_email: { ...verify, title: "verify_email.title" },
  verify_phone: { ...verify, title: "verify_phone.title" },
}

/** The code was wrong, left out, or too many were tried for so many minutes to come. */
export type LinkProblem = "wrong" | "missing" | { readonly minutes: number }

export type LinkPageProps = PageProps & {
  readonly kind: LinkKind
  readonly form: Target
  readonly linked: Linked
  readonly problem?: LinkProblem | undefined
  /** Where whoever has no good code goes on; absent where nowhere. */
  readonly onwardHref?: string | undefined
}

/**
 * Where the link of a message leads. It says nothing of anybody before the code is known to be
 * right. Posts `userId`, `organization`, `request` and `code`.
 */
export function LinkPage(props: LinkPageProps) {
  const { kind, form, linked, problem, onwardHref } = props
  const t = props.t.on(kind)
  const said = words[kind]
  const isWrong = problem === "wrong"
  const title = t(isWrong ? said.wrongTitle : said.title)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(isWrong ? said.happened : said.lead)} />
      {isWrong && <p>{t(said.todo)}</p>}
      <FlowForm target={form}>
        <LinkedFields linked={linked} />
        <CodeField
          label={t(said.code)}
          hint={t(said.codeHint ?? "invite.code_hint")}
          code={linked.code}
          error={errorIn({ ...props, t })}
          autoCapitalize={kind === "sign_up" ? "none" : "characters"}
        />
        <Button kind="primary" type="submit" wide>
          {t(said.submit)}
        </Button>
        {isWrong && onwardHref !== undefined && (
          <ButtonLink href={onwardHref} wide>
            {t(said.onward)}
          </ButtonLink>
        )}
      </FlowForm>
    </Frame>
  )
}

function errorIn({ t, kind, problem }: LinkPageProps): string | undefined {
  if (problem === undefined) return undefined
  if (typeof problem === "string") return t(words[kind][problem])
  return t("password.error.too_many_tries", problem)
}

/** Whose link it is, unseen. */
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

/** Filled from the part of the link behind the #, which only the browser sees. */
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
  /** What the page says apart from others; `register_org` to who begins an organization. */
  readonly page: LinkKind | "register_org"
  readonly title: string
  readonly lead: string
  readonly submit: string
  readonly form: Target
  readonly linked: Linked
  readonly account: Account
  readonly rules: PasswordRules
  readonly errors?: NewPasswordErrors
  /** What one may take in place of a password, where there is such. */
  readonly passkey?: FirstPasskey | undefined
}

/** A passkey that an account is made with; `options` is what the browser is handed, as JSON. */
export type FirstPasskey = {
  readonly options: string
  readonly challenge: string
  readonly error?: string | undefined
  /** Before the password, or without one; absent: after it. */
  readonly place?: "first" | "only" | undefined
}

/**
 * The password that a right code lets somebody choose, or a passkey. Posts what brought it here, as
 * well; of a passkey `credential` and `challenge`.
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
        <AccountPerson account={account} />
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

type PasskeyProps = Pick<LinkPasswordPageProps, "t" | "form" | "linked"> & {
  readonly passkey: FirstPasskey
}

/** The same before the password, which browsers without passkeys or scripts show alone. */
function PasskeyFirst({ t, form, linked, passkey }: PasskeyProps) {
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

/** For browsers that know passkeys, with a script: the password is there for all. */
function Passkey({ t, form, linked, passkey }: PasskeyProps) {
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
