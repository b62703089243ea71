import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import type { TextKey } from "./texts/index.ts"

/** The form values of a registration. */
export type RegistrationValues = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** The organization that the user creates; empty if they join one. */
  readonly organization: string
}

export type RegisterField = keyof RegistrationValues | "accept"

/** What is wrong and in which field; with the minutes to wait after too many attempts. */
export type RegisterProblem =
  | { readonly at: RegisterField; readonly key: `register.error.${RegisterField | "domain"}` }
  | {
      readonly at: "email"
      readonly key: "register.error.domains"
      /** The domains that the registration link accepts. */
      readonly domains: string
    }
  | {
      readonly at: "email"
      readonly key: "password.error.too_many_tries"
      readonly minutes: number
    }

export type RegisterPageProps = PageProps & {
  readonly form: Target
  readonly registering: RegistrationValues
  /** Whether the user creates an organization. */
  readonly isFounder: boolean
  /** Whether an application determines the organization. */
  readonly isOfOrg?: boolean
  /** Whether an administrator must approve the account. */
  readonly needsApproval?: boolean
  /** The organization that the user joins with a registration link; absent without one. */
  readonly orgName?: string | undefined
  readonly problem?: RegisterProblem | undefined
  /** The terms that must be accepted. */
  readonly terms: readonly { readonly name: TextKey; readonly href: string }[]
  /**
   * The value of `accept`: it identifies the terms that were shown, so that no others are accepted.
   */
  readonly acceptValue: string
  readonly signInHref: string
  /** The other kind of registration; absent if there is none. */
  readonly otherHref?: string | undefined
}

/** The texts of the page, for each kind of registration. */
const registerTexts = ({ t, isFounder, isOfOrg = false }: RegisterPageProps) => {
  if (isFounder) return t.on("register_org")
  return isOfOrg ? t.on("member").on("register") : t.on("register")
}

/** Registers a user. Posts `email`, `givenName`, `familyName`, `organization` and `accept`. */
export function RegisterPage(props: RegisterPageProps) {
  const { form, isFounder, signInHref, otherHref, orgName, needsApproval } = props
  const t = registerTexts(props)
  const title = t("register.title")
  const lead = orgName === undefined ? undefined : t("sign_up.joining", { organization: orgName })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("register.lead")} />
      {lead && <p>{lead}</p>}
      {needsApproval && <p>{t("sign_up.approval")}</p>}
      <FlowForm target={form}>
        {isFounder && (
          <RegistrationField {...props} t={t} name="organization" autoComplete="organization" />
        )}
        <RegistrationField
          {...props}
          t={t}
          name="email"
          type="email"
          autoComplete="email"
          autoCapitalize="none"
        />
        <RegistrationField {...props} t={t} name="givenName" autoComplete="given-name" />
        <RegistrationField {...props} t={t} name="familyName" autoComplete="family-name" />
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

/** Shown after a registration that an administrator must approve. */
export function ApprovalPendingPage(props: PageProps & { readonly signInHref: string }) {
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

type RegistrationFieldProps = Pick<RegisterPageProps, "t" | "registering" | "problem"> & {
  readonly name: keyof RegistrationValues
  readonly autoComplete: string
  readonly type?: string
  readonly autoCapitalize?: string
}

function RegistrationField({
  t,
  registering,
  problem,
  name,
  type = "text",
  ...field
}: RegistrationFieldProps) {
  return (
    <TextField
      label={t(`register.${name}`)}
      name={name}
      type={type}
      defaultValue={registering[name]}
      error={errorTextOf(t, name, problem)}
      maxLength={200}
      required
      autoComplete={field.autoComplete}
      autoCapitalize={field.autoCapitalize}
    />
  )
}

function errorTextOf(
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
  const error = errorTextOf(t, "accept", problem)
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
