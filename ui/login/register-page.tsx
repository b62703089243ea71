import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import type { TextKey } from "./texts/index.ts"

/** What somebody has typed who wants an account. */
export type Registering = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** The organisation that they begin; empty where they join one. */
  readonly organization: string
}

export type RegisterField = keyof Registering | "accept"

/** What is wrong, and at which field; minutes to wait for who asks too often. */
export type RegisterProblem =
  | { readonly at: RegisterField; readonly key: `register.error.${RegisterField | "domain"}` }
  | {
      readonly at: "email"
      readonly key: "register.error.domains"
      /** Those that the sign-up link accepts. */
      readonly domains: string
    }
  | {
      readonly at: "email"
      readonly key: "password.error.too_many_tries"
      readonly minutes: number
    }

export type RegisterPageProps = PageProps & {
  readonly form: Target
  readonly registering: Registering
  /** Whether they begin an organisation of their own. */
  readonly isFounder: boolean
  /** Whether an application has named the organization that they join. */
  readonly isOfOrg?: boolean
  /** Whether an administrator must approve the account. */
  readonly needsApproval?: boolean
  /** The organization that they join with a sign-up link; absent without one. */
  readonly joining?: string | undefined
  readonly problem?: RegisterProblem | undefined
  /** What has to be accepted. */
  readonly terms: readonly { readonly name: TextKey; readonly href: string }[]
  /** What `accept` posts: it says which terms were shown, so that nobody agrees to others. */
  readonly acceptValue: string
  readonly signInHref: string
  /** Where the other way of registering is; absent where there is none. */
  readonly otherHref?: string | undefined
}

/** What the page says: of who joins, of who joins an organization that is named, or begins one. */
const registerTexts = ({ t, isFounder, isOfOrg = false }: RegisterPageProps) => {
  if (isFounder) return t.on("register_org")
  return isOfOrg ? t.on("member").on("register") : t.on("register")
}

/** Makes an account. Posts `email`, `givenName`, `familyName`, `organization` and `accept`. */
export function RegisterPage(props: RegisterPageProps) {
  const { form, isFounder, signInHref, otherHref, joining, needsApproval } = props
  const t = registerTexts(props)
  const title = t("register.title")
  const lead = joining === undefined ? undefined : t("sign_up.joining", { organization: joining })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("register.lead")} />
      {lead && <p>{lead}</p>}
      {needsApproval && <p>{t("sign_up.approval")}</p>}
      <FlowForm target={form}>
        {isFounder && <Asked {...props} t={t} name="organization" autoComplete="organization" />}
        <Asked
          {...props}
          t={t}
          name="email"
          type="email"
          autoComplete="email"
          autoCapitalize="none"
        />
        <Asked {...props} t={t} name="givenName" autoComplete="given-name" />
        <Asked {...props} t={t} name="familyName" autoComplete="family-name" />
        <Terms {...props} t={t} />
        <Button kind="primary" type="submit" wide>
          {t("login_name.submit")}
        </Button>
      </FlowForm>
      <p className="small">
        {t("register.known")} <a href={signInHref}>{t("password.submit")}</a>
      </p>
      {otherHref && (
        <p className="small">
          <a href={otherHref}>{t(isFounder ? "register.join" : "register.found")}</a>
        </p>
      )}
    </Frame>
  )
}

/** Somebody has asked for an account that an administrator must approve. */
export function SignUpWaitingPage(props: PageProps & { readonly signInHref: string }) {
  const { t, signInHref } = props
  const title = t("sign_up.waiting.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("sign_up.waiting.lead")} />
      <p className="quiet">{t("sign_up.waiting.todo")}</p>
      <ButtonLink href={signInHref} wide>
        {t("error.sign_in")}
      </ButtonLink>
    </Frame>
  )
}

type AskedProps = Pick<RegisterPageProps, "t" | "registering" | "problem"> & {
  readonly name: keyof Registering
  readonly autoComplete: string
  readonly type?: string
  readonly autoCapitalize?: string
}

function Asked({ t, registering, problem, name, type = "text", ...field }: AskedProps) {
  return (
    <TextField
      label={t(`register.${name}`)}
      name={name}
      type={type}
      defaultValue={registering[name]}
      error={errorAt(t, name, problem)}
      maxLength={200}
      required
      autoComplete={field.autoComplete}
      autoCapitalize={field.autoCapitalize}
    />
  )
}

function errorAt(
  t: PageProps["t"],
  field: RegisterField,
  problem: RegisterProblem | undefined,
): string | undefined {
  if (problem?.at !== field) return undefined
  if ("minutes" in problem) return t(problem.key, { minutes: problem.minutes })
  return "domains" in problem ? t(problem.key, { domains: problem.domains }) : t(problem.key)
}

function Terms({ t, terms, acceptValue, problem }: RegisterPageProps) {
  if (terms.length === 0) return null
  const error = errorAt(t, "accept", problem)
  return (
    <div className="stack stack-tight">
      <label className="check">
        <input
          type="checkbox"
          name="accept"
          value={acceptValue}
          required
          aria-invalid={error !== undefined}
        />
        <span className="check-label">{t("register.accept")}</span>
        {error && (
          <span className="field-error" role="alert">
            {error}
          </span>
        )}
      </label>
      <ul>
        {terms.map(({ name, href }) => (
          <li key={name}>
            <a href={href} target="_blank" rel="noreferrer">
              {t(name)}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
