import type {
  Account,
  FirstPasskey,
  Linked,
  LinkKind,
  LinkProblem,
  PasswordRules,
} from "../../../ui/login/index.ts"
import { type CodeCheckResult, checkCode, complexityFor } from "../../domain/credential/index.ts"
import type { CodeFor } from "../../domain/lockout/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { accountOf, formTargetOf, hrefOf, type LoginContext, optionsOf } from "../context.ts"
import { type Fields, parseLinkCode } from "../form.ts"
import { pageStateFor } from "../page-state.ts"
import { loginPaths } from "../path.ts"
import { registrationOrgOf } from "../policy/registration.ts"
import { showProblem } from "../problem.ts"
import { forgotHref } from "./by-email.ts"
import type { NewPasswordProblem } from "./new-password.ts"

/** The form target and the purpose of each kind of link. */
const linkKinds = {
  invite: { action: loginPaths.invite, of: "invite" },
  reset: { action: loginPaths.passwordSet, of: "password" },
  verify_email: { action: loginPaths.verifyEmail, of: "email" },
  verify_phone: { action: loginPaths.verifyPhone, of: "phone" },
  register: { action: loginPaths.registerVerify },
  sign_up: { action: loginPaths.signUpLink },
} as const satisfies Readonly<Record<LinkKind, { readonly action: string; readonly of?: CodeFor }>>

/**
 * GET of a link. It neither verifies nor uses the code, because mail scanners open links, too. The
 * code is preferably in the fragment, which no log contains.
 */
export function showLink(loginContext: LoginContext, kind: LinkKind): Promise<Response> | Response {
  const state = rejectedLinkStates[kind].of(loginContext)
  if (state) return linkPage(loginContext, { kind, linked: state.linked }, state.refusal)
  const { searchParams } = new URL(loginContext.request.url)
  const parameter = (name: string) => (kind === "sign_up" && name === "userId" ? "link" : name)
  const linked = parseLinked({ get: (name) => searchParams.get(parameter(name)) ?? "" })
  if (linked.userId !== "") return linkPage(loginContext, { kind, linked })
  return showProblem(loginContext, { problem: "not_found", status: 404 })
}

export const parseLinked = (fields: Fields): Linked => ({
  userId: fields.get("userId"),
  ...parseLinkCode(fields),
  organization: fields.get("organization"),
  request: fields.get("request"),
})

export type LinkRejection =
  | Exclude<CodeCheckResult, "ok">
  | "missing"
  | { readonly retryAfterSeconds: number }

/** Verifies a code. Failed attempts count for the account and the IP address. */
export const checkLink = (
  cx: Cx,
  kind: "invite" | "reset",
  { userId, code, key }: Linked,
): Promise<"ok" | LinkRejection> =>
  limitGuesses(cx, code, () => checkCode(cx, userId, { of: linkKinds[kind].of, given: code, key }))

/** The same with another function that verifies the code. */
export async function limitGuesses(
  cx: Cx,
  code: string,
  check: () => Promise<CodeCheckResult>,
): Promise<"ok" | LinkRejection> {
  if (code === "") return "missing"
  try {
    cx.allowance?.spend("guess")
    const result = await check()
    if (result !== "wrong") cx.allowance?.refund("guess")
    return result
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds !== undefined) return { retryAfterSeconds }
    throw cause
  }
}

type LinkRequest = { readonly kind: LinkKind; readonly linked: Linked }

type RejectedLink = {
  readonly linked: Linked
  readonly refusal: Exclude<LinkRejection, "locked" | "inactive">
}

/** The page of a link whose code was rejected. */
const rejectedLinkStates = {
  invite: pageStateFor<RejectedLink>(loginPaths.invite),
  reset: pageStateFor<RejectedLink>(loginPaths.passwordSet),
  verify_email: pageStateFor<RejectedLink>(loginPaths.verifyEmail),
  verify_phone: pageStateFor<RejectedLink>(loginPaths.verifyPhone),
  register: pageStateFor<RejectedLink>(loginPaths.registerVerify),
  sign_up: pageStateFor<RejectedLink>(loginPaths.signUpLink),
} as const satisfies Record<LinkKind, unknown>

export function rejectLink(
  loginContext: LoginContext,
  { kind, linked }: LinkRequest,
  result: LinkRejection,
): Promise<Response> | Response {
  if (result === "locked" || result === "inactive") {
    const reason = `error.not_allowed.${result}` as const
    return showProblem(loginContext, { problem: "not_allowed", status: 403, reason })
  }
  return rejectedLinkStates[kind].next(loginContext, { linked: truncate(linked), refusal: result })
}

/** IDs and codes are shorter; longer values are invalid, so a part is enough to show. */
const truncate = ({ userId, code, key, organization, request }: Linked): Linked => ({
  userId: userId.slice(0, 200),
  code: code.slice(0, 200),
  key: key.slice(0, 200),
  organization: organization.slice(0, 200),
  request: request.slice(0, 200),
})

function linkPage(
  loginContext: LoginContext,
  { kind, linked }: LinkRequest,
  refusal?: "wrong" | "missing" | { readonly retryAfterSeconds: number },
): Promise<Response> {
  const form = formTargetOf(loginContext, linkKinds[kind].action)
  const seconds = typeof refusal === "object" ? refusal.retryAfterSeconds : 0
  const problem: LinkProblem | undefined =
    typeof refusal === "object" ? { minutes: Math.ceil(seconds / 60) } : refusal
  const onwardHref = alternativeHref(loginContext, kind)
  const status = seconds ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.LinkPage({ ...shared, kind, form, linked, problem, onwardHref }),
    // Until the code is verified, the page has the default branding, because anyone can create a
    // link.
    { ...optionsOf(loginContext, problem ? status : 200), retryAfterSeconds: seconds },
  )
}

/**
 * Where users without a valid code can get another one, or continue without it; undefined if
 * neither is possible.
 */
function alternativeHref(loginContext: LoginContext, kind: LinkKind): string | undefined {
  if (kind === "reset") return forgotHref(loginContext, "")
  if (kind !== "register") return loginPaths.entry
  // Users of a registration link may have no other credentials; they open the link again.
  const { cx, waiting } = loginContext
  const isOpen = registrationOrgOf(cx, waiting?.asked.home) !== undefined
  return isOpen ? hrefOf(loginContext, loginPaths.register) : undefined
}

/** The page where a user sets a password after the code was verified. */
type ChooseCredentialOptions = {
  readonly page: LinkKind | "register_org"
  readonly linked: Linked
  readonly action: string
  readonly orgId: string
  /** The account of the password, and its rules; the user's own by default. */
  readonly account?: Account
  readonly rules?: PasswordRules
  /** The passkey that can be registered instead. */
  readonly passkey?: Omit<FirstPasskey, "error"> | undefined
  readonly words: (t: Translate) => {
    readonly title: string
    readonly lead: string
    readonly submit: string
  }
}

/** Why a chosen credential was rejected. */
export type ChoiceProblem =
  | NewPasswordProblem
  | { readonly at: "passkey"; readonly key: "factor.error.key" }

type Translate = Parameters<Parameters<LoginContext["show"]>[1]>[1]["t"]

export function linkPasswordPage(
  loginContext: LoginContext,
  { page, linked, action, orgId, words, ...given }: ChooseCredentialOptions,
  problem?: ChoiceProblem,
): Promise<Response> {
  const { cx } = loginContext
  const form = formTargetOf(loginContext, action)
  const account = given.account ?? accountOf(cx, linked.userId)
  const rules = given.rules ?? complexityFor(cx, linked.userId)
  return loginContext.show(
    cx,
    (ui, shared) => {
      const t = shared.t.on(page)
      const problemText = problem && t(problem.key, { rules: ui.formatRules(t, rules) })
      const { passkey: error, ...errors } = problem ? { [problem.at]: problemText } : {}
      const passkey = given.passkey && { ...given.passkey, error }
      const pageProps = { page, form, linked, account, rules, errors, passkey }
      return ui.LinkPasswordPage({ ...shared, ...words(t), ...pageProps })
    },
    { ...optionsOf(loginContext, problem ? 422 : 200), orgId },
  )
}
