import type { RegisterField, Registering, RegisterProblem } from "../../../../ui/login/index.ts"
import { findOrg } from "../../../domain/org/index.ts"
import { login, policyOf, privacy } from "../../../domain/policy/index.ts"
import { askRegistration, registrantOf } from "../../../domain/registration/index.ts"
import { acceptsEmail } from "../../../domain/sign-up/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { linkIn } from "../../../kernel/text/language.ts"
import { writtenDomain } from "../../../protocol/domain.ts"
import { isLanguage } from "../../../protocol/user-field.ts"
import { hrefOf, type LoginContext, optionsOf, type Screen, targetOf } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { mayRegister, type RegistrationKind } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { homeOfAddress, registrationHome } from "../../policy/registration.ts"
import { trouble } from "../../trouble.ts"
import { registerPages as pages } from "./page.ts"
import { homeByLink, refuseEnded, type SignUp, signUpWith } from "./sign-up-link.ts"

/** GET: asks who wants an account. */
const askRegister =
  (way: RegistrationKind) =>
  (loginContext: LoginContext): Promise<Response> | Response => {
    const { problem, signUpLinkId, ...typed } = pages[way].notes.of(loginContext) ?? {}
    const signUp = signUpWith(loginContext.cx, signUpLinkId)
    if (signUp === "over") return refuseEnded(loginContext, signUpLinkId ?? "")
    if (!signUp && !mayRegister(loginContext, way)) return closed(loginContext)
    const email = loginContext.waiting?.loginHint ?? ""
    const registering = { email, givenName: "", familyName: "", organization: "", ...typed }
    return registerPage(loginContext, { way, registering, problem, signUp })
  }

const closed = (loginContext: LoginContext): Promise<Response> | Response => {
  const reason = "register.closed" as const
  return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
}

/** Somebody wants an account; whatever comes of it, the next page is the same. */
const takeRegister =
  (way: RegistrationKind) =>
  async (loginContext: LoginContext, fields: Fields): Promise<Response> => {
    const { cx, waiting } = loginContext
    // The form posts to the address of its page, whose note names the sign-up link.
    const { signUpLinkId } = pages[way].notes.of(loginContext) ?? {}
    const signUp = signUpWith(cx, signUpLinkId)
    if (signUp === "over") return refuseEnded(loginContext, signUpLinkId ?? "")
    if (!signUp && !mayRegister(loginContext, way)) return closed(loginContext)
    const registering = typedIn(fields, way)
    const again = (problem: RegisterProblem) =>
      pages[way].notes.next(loginContext, { ...registering, problem, signUpLinkId })
    const missing = missingIn(loginContext, { way, registering, fields, signUp })
    if (missing) return again({ at: missing, key: `register.error.${missing}` })
    const { email } = registering
    if (signUp && !acceptsEmail(signUp.link, email)) {
      const domains = signUp.link.domains.map(writtenDomain).join(", ")
      return again({ at: "email", key: "register.error.domains", domains })
    }
    const home = homeFor(loginContext, { email, signUp })
    const usual = registrationHome(cx, waiting?.asked.home) ?? ""
    // Who begins an organisation does not begin it with the address of another one.
    if (home === undefined || (way === "found" && home !== usual)) {
      return again({ at: "email", key: "register.error.domain" })
    }
    const id = cx.ids.next()
    try {
      await askRegistration(cx, id, {
        registrant: registrantOf({ ...registering, language: cx.languages.find(isLanguage) ?? "" }),
        orgId: way === "found" ? cx.ids.next() : home,
        requestId: waiting?.id ?? "",
        ...(signUp && { signUpLinkId: signUp.id }),
      })
    } catch (cause) {
      const problem = problemOf(cause)
      if (problem) return again(problem)
      throw cause
    }
    const query = new URLSearchParams({ userId: id, ...(waiting && { authRequest: waiting.id }) })
    return goTo(`${loginPaths.registerVerify}?${query}`)
  }

/** Whether an administrator approves who joins, as far as it is known before the address is. */
function isApproved({ cx, waiting }: LoginContext, signUp: SignUp | undefined): boolean {
  if (signUp) return signUp.link.requiresApproval === true
  const orgId = registrationHome(cx, waiting?.asked.home) ?? ""
  return policyOf(cx, orgId, login).requireSignUpApproval
}

type Joining = { readonly email: string; readonly signUp: SignUp | undefined }

/** The organization that an email address joins; undefined where it can't join any. */
const homeFor = ({ cx, waiting }: LoginContext, { email, signUp }: Joining): string | undefined =>
  signUp ? homeByLink(cx, signUp, email) : homeOfAddress(cx, { email, home: waiting?.asked.home })

const typedIn = (fields: Fields, way: RegistrationKind): Registering => {
  const short = (name: string) => fields.get(name).trim().slice(0, 200)
  return {
    email: short("email"),
    givenName: short("givenName"),
    familyName: short("familyName"),
    organization: way === "found" ? short("organization") : "",
  }
}

type Submission = {
  readonly way: RegistrationKind
  readonly registering: Registering
  readonly fields: Fields
  readonly signUp: SignUp | undefined
}

/** The first field that has to be filled in yet. */
function missingIn(
  loginContext: LoginContext,
  { way, registering, fields, signUp }: Submission,
): RegisterField | undefined {
  const { email, givenName, familyName, organization } = registering
  if (way === "found" && organization === "") return "organization"
  if (email === "" || !email.includes("@")) return "email"
  if (givenName === "") return "givenName"
  if (familyName === "") return "familyName"
  // An address may lead to an organisation whose terms are others than the page has shown.
  const { acceptValue } = termsOf(loginContext, { way, email, signUp })
  return fields.get("accept") === acceptValue ? undefined : "accept"
}

/** What the account is wanted by; a fault of what was typed says at which field. */
function problemOf(cause: unknown): RegisterProblem | undefined {
  if (!(cause instanceof Fault)) return undefined
  const { retryAfterSeconds, id, violation } = cause
  if (retryAfterSeconds !== undefined) {
    const minutes = Math.ceil(retryAfterSeconds / 60)
    return { at: "email", key: "password.error.too_many_tries", minutes }
  }
  if (id === "user.email_invalid") return { at: "email", key: "register.error.email" }
  const at = violation && fieldsNamed[violation.field]
  return at && { at, key: `register.error.${at}` }
}

const fieldsNamed: Readonly<Record<string, "givenName" | "familyName" | "organization">> = {
  given_name: "givenName",
  family_name: "familyName",
  organization: "organization",
}

/** What has to be accepted, by its name and address: that of the organisation that is joined. */
function termsOf(
  loginContext: LoginContext,
  { way, email, signUp }: Joining & { readonly way: RegistrationKind },
) {
  const { cx, waiting } = loginContext
  const joined = way === "join" ? homeFor(loginContext, { email, signUp }) : undefined
  const usual = signUp?.link.orgId ?? registrationHome(cx, waiting?.asked.home)
  const orgId = joined ?? usual ?? ""
  const { tosLink, privacyLink } = policyOf(cx, orgId, privacy)
  const all = [
    { name: "register.terms", href: tosLink },
    { name: "register.privacy", href: privacyLink },
  ] as const
  const terms = all.filter(({ href }) => href !== "")
  return { terms, acceptValue: terms.map(({ href }) => href).join(" ") }
}

/** GET: says that an administrator decides; the same to everybody. */
const showWaiting = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.SignUpWaitingPage({ ...shared, signInHref: loginPaths.entry }),
    optionsOf(loginContext),
  )

type Page = {
  readonly way: RegistrationKind
  readonly registering: Registering
  readonly problem: RegisterProblem | undefined
  readonly signUp: SignUp | undefined
}

function registerPage(
  loginContext: LoginContext,
  { way, registering, problem, signUp }: Page,
): Promise<Response> {
  const { cx } = loginContext
  const other = way === "join" ? "found" : "join"
  const isOther = !signUp && mayRegister(loginContext, other)
  const { path, notes } = pages[way]
  const action = signUp
    ? notes.href(loginContext, { ...registering, signUpLinkId: signUp.id })
    : path
  const page = {
    registering,
    problem,
    isFounder: way === "found",
    isOfOrg: loginContext.waiting?.asked.home !== undefined,
    needsApproval: way === "join" && isApproved(loginContext, signUp),
    joining: signUp && findOrg(cx, signUp.link.orgId).name,
    form: targetOf(loginContext, action),
    ...termsOf(loginContext, { way, email: registering.email, signUp }),
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
        href: linkIn(href, shared.language),
      })
      return ui.RegisterPage({ ...shared, ...page, terms: page.terms.map(inLanguage) })
    },
    signUp ? { ...options, orgId: signUp.link.orgId } : options,
  )
}

export const registerScreen: Screen = {
  path: loginPaths.register,
  get: askRegister("join"),
  post: takeRegister("join"),
}

export const registerOrgScreen: Screen = {
  path: loginPaths.registerOrg,
  get: askRegister("found"),
  post: takeRegister("found"),
}

export const registerWaitingScreen: Screen = { path: loginPaths.registerWaiting, get: showWaiting }
