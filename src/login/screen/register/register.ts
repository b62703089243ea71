import type {
  RegisterField,
  RegisterProblem,
  RegistrationValues,
} from "../../../../ui/login/index.ts"
import { findOrg } from "../../../domain/org/index.ts"
import { login, policyOf, privacy } from "../../../domain/policy/index.ts"
import { parseRegistrant, requestRegistration } from "../../../domain/registration/index.ts"
import { acceptsEmail } from "../../../domain/sign-up/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { localizeLink } from "../../../kernel/text/language.ts"
import { toUnicodeDomain } from "../../../protocol/domain.ts"
import { isLanguage } from "../../../protocol/user-field.ts"
import { formTargetOf, hrefOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { canRegister, type RegistrationKind } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { orgOfAddress, registrationOrgOf } from "../../policy/registration.ts"
import { showProblem } from "../../problem.ts"
import { registerPages as pages } from "./page.ts"
import { findSignUp, orgByLink, rejectEndedLink, type SignUp } from "./sign-up-link.ts"

/** GET: asks for the data of the new user. */
const showRegister =
  (kind: RegistrationKind) =>
  (loginContext: LoginContext): Promise<Response> | Response => {
    const { problem, signUpLinkId, ...typed } = pages[kind].state.of(loginContext) ?? {}
    const signUp = findSignUp(loginContext.cx, signUpLinkId)
    if (signUp === "over") return rejectEndedLink(loginContext, signUpLinkId ?? "")
    if (!signUp && !canRegister(loginContext, kind)) return showRegistrationClosed(loginContext)
    const email = loginContext.waiting?.loginHint ?? ""
    const registering = { email, givenName: "", familyName: "", organization: "", ...typed }
    return registerPage(loginContext, { way: kind, registering, problem, signUp })
  }

const showRegistrationClosed = (loginContext: LoginContext): Promise<Response> | Response => {
  const reason = "register.closed" as const
  return showProblem(loginContext, { problem: "not_allowed", status: 403, reason })
}

/**
 * POST: registers a user. The next page is always the same, so that it does not reveal whether the
 * account exists.
 */
const postRegister =
  (kind: RegistrationKind) =>
  async (loginContext: LoginContext, fields: Fields): Promise<Response> => {
    const { cx, waiting } = loginContext
    // The form posts to the URL of its page, whose state contains the registration link.
    const { signUpLinkId } = pages[kind].state.of(loginContext) ?? {}
    const signUp = findSignUp(cx, signUpLinkId)
    if (signUp === "over") return rejectEndedLink(loginContext, signUpLinkId ?? "")
    if (!signUp && !canRegister(loginContext, kind)) return showRegistrationClosed(loginContext)
    const registering = parseRegistering(fields, kind)
    const again = (problem: RegisterProblem) =>
      pages[kind].state.next(loginContext, { ...registering, problem, signUpLinkId })
    const missing = findMissingField(loginContext, { way: kind, registering, fields, signUp })
    if (missing) return again({ at: missing, key: `register.error.${missing}` })
    const { email } = registering
    if (signUp && !acceptsEmail(signUp.link, email)) {
      const domains = signUp.link.domains.map(toUnicodeDomain).join(", ")
      return again({ at: "email", key: "register.error.domains", domains })
    }
    const home = orgToJoin(loginContext, { email, signUp })
    const defaultOrg = registrationOrgOf(cx, waiting?.asked.home) ?? ""
    // A user who creates an organization can't use an address in the domain of another one.
    if (home === undefined || (kind === "found" && home !== defaultOrg)) {
      return again({ at: "email", key: "register.error.domain" })
    }
    const id = cx.ids.next()
    try {
      await requestRegistration(cx, id, {
        registrant: parseRegistrant({
          ...registering,
          language: cx.languages.find(isLanguage) ?? "",
        }),
        orgId: kind === "found" ? cx.ids.next() : home,
        requestId: waiting?.id ?? "",
        ...(signUp && { signUpLinkId: signUp.id }),
      })
    } catch (cause) {
      const problem = problemOf(cause)
      if (problem) return again(problem)
      throw cause
    }
    const query = new URLSearchParams({ userId: id, ...(waiting && { authRequest: waiting.id }) })
    return redirectTo(`${loginPaths.registerVerify}?${query}`)
  }

/**
 * Whether an administrator must approve the registration, as far as known without the email
 * address.
 */
function requiresApproval({ cx, waiting }: LoginContext, signUp: SignUp | undefined): boolean {
  if (signUp) return signUp.link.requiresApproval === true
  const orgId = registrationOrgOf(cx, waiting?.asked.home) ?? ""
  return policyOf(cx, orgId, login).requireSignUpApproval
}

type JoinInput = { readonly email: string; readonly signUp: SignUp | undefined }

/** The organization that an email address joins; undefined if there is none. */
const orgToJoin = (
  { cx, waiting }: LoginContext,
  { email, signUp }: JoinInput,
): string | undefined =>
  signUp ? orgByLink(cx, signUp, email) : orgOfAddress(cx, { email, home: waiting?.asked.home })

const parseRegistering = (fields: Fields, kind: RegistrationKind): RegistrationValues => {
  const short = (name: string) => fields.get(name).trim().slice(0, 200)
  return {
    email: short("email"),
    givenName: short("givenName"),
    familyName: short("familyName"),
    organization: kind === "found" ? short("organization") : "",
  }
}

type Submission = {
  readonly way: RegistrationKind
  readonly registering: RegistrationValues
  readonly fields: Fields
  readonly signUp: SignUp | undefined
}

/** The first required field that is empty. */
function findMissingField(
  loginContext: LoginContext,
  { way: kind, registering, fields, signUp }: Submission,
): RegisterField | undefined {
  const { email, givenName, familyName, organization } = registering
  if (kind === "found" && organization === "") return "organization"
  if (email === "" || !email.includes("@")) return "email"
  if (givenName === "") return "givenName"
  if (familyName === "") return "familyName"
  // The address may belong to an organization whose terms differ from those on the page.
  const { acceptValue } = termsOf(loginContext, { way: kind, email, signUp })
  return fields.get("accept") === acceptValue ? undefined : "accept"
}

/** The problem to show for a fault, with the field that it concerns. */
function problemOf(cause: unknown): RegisterProblem | undefined {
  if (!(cause instanceof Fault)) return undefined
  const { retryAfterSeconds, id, violation } = cause
  if (retryAfterSeconds !== undefined) {
    const minutes = Math.ceil(retryAfterSeconds / 60)
    return { at: "email", key: "password.error.too_many_tries", minutes }
  }
  if (id === "user.email_invalid") return { at: "email", key: "register.error.email" }
  const at = violation && fieldsByName[violation.field]
  return at && { at, key: `register.error.${at}` }
}

const fieldsByName: Readonly<Record<string, "givenName" | "familyName" | "organization">> = {
  given_name: "givenName",
  family_name: "familyName",
  organization: "organization",
}

/** The terms to accept, by name and URL: those of the organization that the user joins. */
function termsOf(
  loginContext: LoginContext,
  { way: kind, email, signUp }: JoinInput & { readonly way: RegistrationKind },
) {
  const { cx, waiting } = loginContext
  const joined = kind === "join" ? orgToJoin(loginContext, { email, signUp }) : undefined
  const defaultOrg = signUp?.link.orgId ?? registrationOrgOf(cx, waiting?.asked.home)
  const orgId = joined ?? defaultOrg ?? ""
  const { tosLink, privacyLink } = policyOf(cx, orgId, privacy)
  const all = [
    { name: "register.terms", href: tosLink },
    { name: "register.privacy", href: privacyLink },
  ] as const
  const terms = all.filter(({ href }) => href !== "")
  return { terms, acceptValue: terms.map(({ href }) => href).join(" ") }
}

/** GET: explains that an administrator decides; the same for everyone. */
const showApprovalPending = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.ApprovalPendingPage({ ...shared, signInHref: loginPaths.entry }),
    optionsOf(loginContext),
  )

type RegisterPageOptions = {
  readonly way: RegistrationKind
  readonly registering: RegistrationValues
  readonly problem: RegisterProblem | undefined
  readonly signUp: SignUp | undefined
}

function registerPage(
  loginContext: LoginContext,
  { way: kind, registering, problem, signUp }: RegisterPageOptions,
): Promise<Response> {
  const { cx } = loginContext
  const other = kind === "join" ? "found" : "join"
  const isOther = !signUp && canRegister(loginContext, other)
  const { path, state } = pages[kind]
  const action = signUp
    ? state.href(loginContext, { ...registering, signUpLinkId: signUp.id })
    : path
  const page = {
    registering,
    problem,
    isFounder: kind === "found",
    isOfOrg: loginContext.waiting?.asked.home !== undefined,
    needsApproval: kind === "join" && requiresApproval(loginContext, signUp),
    orgName: signUp && findOrg(cx, signUp.link.orgId).name,
    form: formTargetOf(loginContext, action),
    ...termsOf(loginContext, { way: kind, email: registering.email, signUp }),
    signInHref: hrefOf(loginContext, loginPaths.loginName),
    otherHref: isOther ? hrefOf(loginContext, pages[other].path) : undefined,
  }
  const status = problem === undefined ? 200 : "minutes" in problem ? 429 : 422
  const options = optionsOf(loginContext, status)
  return loginContext.show(
    cx,
    (ui, shared) => {
      const inLanguage = ({ href, ...term }: (typeof page.terms)[number]) => ({
        ...term,
        href: localizeLink(href, shared.language),
      })
      return ui.RegisterPage({ ...shared, ...page, terms: page.terms.map(inLanguage) })
    },
    signUp ? { ...options, orgId: signUp.link.orgId } : options,
  )
}

export const registerScreen: Screen = {
  path: loginPaths.register,
  get: showRegister("join"),
  post: postRegister("join"),
}

export const registerOrgScreen: Screen = {
  path: loginPaths.registerOrg,
  get: showRegister("found"),
  post: postRegister("found"),
}

export const approvalPendingScreen: Screen = {
  path: loginPaths.registerWaiting,
  get: showApprovalPending,
}
