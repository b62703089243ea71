import type { RegisterField, Registering, RegisterProblem } from "../../../ui/login/index.ts"
import { policyOf, privacy } from "../../domain/policy/index.ts"
import { askRegistration, isLanguage, registrantOf } from "../../domain/user/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { linkIn } from "../../kernel/text/language.ts"
import { hrefOf, type LoginContext, optionsOf, targetOf, trouble } from "../context.ts"
import { type Fields, goTo } from "../form.ts"
import { notesFor } from "../note.ts"
import { loginPaths } from "../path.ts"
import { homeOfAddress, mayFound, registrationHome } from "./home.ts"

/** Whether somebody joins an organisation or begins one. */
type Way = "join" | "found"

type Shown = Registering & { readonly problem: RegisterProblem }

const pages = {
  join: { path: loginPaths.register, notes: notesFor<Shown>(loginPaths.register) },
  found: { path: loginPaths.registerOrg, notes: notesFor<Shown>(loginPaths.registerOrg) },
} as const

/** Where who has no account makes one; undefined where nobody may. */
export const registerHref = (loginContext: LoginContext): string | undefined =>
  mayGo(loginContext, "join") ? hrefOf(loginContext, loginPaths.register) : undefined

const mayGo = ({ cx, waiting }: LoginContext, way: Way): boolean =>
  way === "found"
    ? mayFound(cx, waiting?.asked.home)
    : registrationHome(cx, waiting?.asked.home) !== undefined

/** GET: asks who wants an account. */
export const askRegister =
  (way: Way) =>
  (loginContext: LoginContext): Promise<Response> | Response => {
    if (!mayGo(loginContext, way)) return closed(loginContext)
    const { problem, ...typed } = pages[way].notes.of(loginContext) ?? {}
    const email = loginContext.waiting?.loginHint ?? ""
    const registering = { email, givenName: "", familyName: "", organization: "", ...typed }
    return registerPage(loginContext, { way, registering, problem })
  }

const closed = (loginContext: LoginContext): Promise<Response> | Response => {
  const reason = "register.closed" as const
  return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
}

/** Somebody wants an account; whatever comes of it, the next page is the same. */
export const takeRegister =
  (way: Way) =>
  async (loginContext: LoginContext, fields: Fields): Promise<Response> => {
    if (!mayGo(loginContext, way)) return closed(loginContext)
    const registering = typedIn(fields, way)
    const again = (problem: RegisterProblem) =>
      pages[way].notes.next(loginContext, { ...registering, problem })
    const missing = missingIn(loginContext, { way, registering, fields })
    if (missing) return again({ at: missing, key: `register.error.${missing}` })
    const { cx, waiting } = loginContext
    const home = homeOfAddress(cx, { email: registering.email, home: waiting?.asked.home })
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
      })
    } catch (cause) {
      const problem = problemOf(cause)
      if (problem) return again(problem)
      throw cause
    }
    const query = new URLSearchParams({ userId: id, ...(waiting && { authRequest: waiting.id }) })
    return goTo(`${loginPaths.registerVerify}?${query}`)
  }

const typedIn = (fields: Fields, way: Way): Registering => {
  const short = (name: string) => fields.get(name).trim().slice(0, 200)
  return {
    email: short("email"),
    givenName: short("givenName"),
    familyName: short("familyName"),
    organization: way === "found" ? short("organization") : "",
  }
}

type Given = { readonly way: Way; readonly registering: Registering; readonly fields: Fields }

/** The first field that has to be filled in yet. */
function missingIn(
  loginContext: LoginContext,
  { way, registering, fields }: Given,
): RegisterField | undefined {
  const { email, givenName, familyName, organization } = registering
  if (way === "found" && organization === "") return "organization"
  if (email === "" || !email.includes("@")) return "email"
  if (givenName === "") return "givenName"
  if (familyName === "") return "familyName"
  // An address may lead to an organisation whose terms are others than the page has shown.
  const { acceptValue } = termsOf(loginContext, { way, email })
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

type Joining = { readonly way: Way; readonly email: string }

/** What has to be accepted, by its name and address: that of the organisation that is joined. */
function termsOf({ cx, waiting }: LoginContext, { way, email }: Joining) {
  const home = waiting?.asked.home
  const joined = way === "join" ? homeOfAddress(cx, { email, home }) : undefined
  const orgId = joined ?? registrationHome(cx, home) ?? ""
  const { tosLink, privacyLink } = policyOf(cx, orgId, privacy)
  const all = [
    { name: "register.terms", href: tosLink },
    { name: "register.privacy", href: privacyLink },
  ] as const
  const terms = all.filter(({ href }) => href !== "")
  return { terms, acceptValue: terms.map(({ href }) => href).join(" ") }
}

type Page = {
  readonly way: Way
  readonly registering: Registering
  readonly problem: RegisterProblem | undefined
}

function registerPage(
  loginContext: LoginContext,
  { way, registering, problem }: Page,
): Promise<Response> {
  const other = way === "join" ? "found" : "join"
  const page = {
    ...{ registering, problem, isFounder: way === "found" },
    isOfOrg: loginContext.waiting?.asked.home !== undefined,
    form: targetOf(loginContext, pages[way].path),
    ...termsOf(loginContext, { way, email: registering.email }),
    signInHref: hrefOf(loginContext, loginPaths.loginName),
    otherHref: mayGo(loginContext, other) ? hrefOf(loginContext, pages[other].path) : undefined,
  }
  const status = problem === undefined ? 200 : "minutes" in problem ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const inLanguage = ({ href, ...term }: (typeof page.terms)[number]) => ({
        ...term,
        href: linkIn(href, shared.language),
      })
      return ui.RegisterPage({ ...shared, ...page, terms: page.terms.map(inLanguage) })
    },
    optionsOf(loginContext, status),
  )
}
