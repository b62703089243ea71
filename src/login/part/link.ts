import type {
  Account,
  FirstPasskey,
  Linked,
  LinkKind,
  LinkProblem,
  PasswordRules,
} from "../../../ui/login/index.ts"
import { type CodeCheck, checkCode, complexityFor } from "../../domain/credential/index.ts"
import type { CodeFor } from "../../domain/lockout/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { accountOf, hrefOf, type LoginContext, optionsOf, targetOf } from "../context.ts"
import { type Fields, linkCodeIn } from "../form.ts"
import { notesFor } from "../note.ts"
import { loginPaths } from "../path.ts"
import { registrationHome } from "../policy/registration.ts"
import { trouble } from "../trouble.ts"
import { forgotHref } from "./by-mail.ts"
import type { NewPasswordProblem } from "./new-password.ts"

/** Where the page of each link posts to, and what its code is for. */
const kinds = {
  invite: { action: loginPaths.invite, of: "invite" },
  reset: { action: loginPaths.passwordSet, of: "password" },
  verify_email: { action: loginPaths.verifyEmail, of: "email" },
  verify_phone: { action: loginPaths.verifyPhone, of: "phone" },
  register: { action: loginPaths.registerVerify },
  sign_up: { action: loginPaths.signUpLink },
} as const satisfies Readonly<Record<LinkKind, { readonly action: string; readonly of?: CodeFor }>>

/**
 * GET of the link that somebody was given. It looks at no code and uses none up: what scans mails
 * opens their links, too. The code best stands behind its #, where no log on the way sees it.
 */
export function askLink(loginContext: LoginContext, kind: LinkKind): Promise<Response> | Response {
  const note = refused[kind].of(loginContext)
  if (note) return linkPage(loginContext, { kind, linked: note.linked }, note.refusal)
  const { searchParams } = new URL(loginContext.request.url)
  const parameter = (name: string) => (kind === "sign_up" && name === "userId" ? "link" : name)
  const linked = linkedIn({ get: (name) => searchParams.get(parameter(name)) ?? "" })
  if (linked.userId !== "") return linkPage(loginContext, { kind, linked })
  return trouble(loginContext, { problem: "not_found", status: 404 })
}

export const linkedIn = (fields: Fields): Linked => ({
  userId: fields.get("userId"),
  ...linkCodeIn(fields),
  organization: fields.get("organization"),
  request: fields.get("request"),
})

export type LinkRefusal =
  | Exclude<CodeCheck, "ok">
  | "missing"
  | { readonly retryAfterSeconds: number }

/** Looks at a code. Guesses are counted of the account, and of the address that they come from. */
export const checkLink = (
  cx: Cx,
  kind: "invite" | "reset",
  { userId, code, key }: Linked,
): Promise<"ok" | LinkRefusal> =>
  guessing(cx, code, () => checkCode(cx, userId, { of: kinds[kind].of, given: code, key }))

/** The same with something else that looks at the code. */
export async function guessing(
  cx: Cx,
  code: string,
  check: () => Promise<CodeCheck>,
): Promise<"ok" | LinkRefusal> {
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

type Asked = { readonly kind: LinkKind; readonly linked: Linked }

type Refused = {
  readonly linked: Linked
  readonly refusal: Exclude<LinkRefusal, "locked" | "inactive">
}

/** The page of a link whose code was not good. */
const refused = {
  invite: notesFor<Refused>(loginPaths.invite),
  reset: notesFor<Refused>(loginPaths.passwordSet),
  verify_email: notesFor<Refused>(loginPaths.verifyEmail),
  verify_phone: notesFor<Refused>(loginPaths.verifyPhone),
  register: notesFor<Refused>(loginPaths.registerVerify),
  sign_up: notesFor<Refused>(loginPaths.signUpLink),
} as const satisfies Record<LinkKind, unknown>

export function refuseLink(
  loginContext: LoginContext,
  { kind, linked }: Asked,
  result: LinkRefusal,
): Promise<Response> | Response {
  if (result === "locked" || result === "inactive") {
    const reason = `error.not_allowed.${result}` as const
    return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
  }
  return refused[kind].next(loginContext, { linked: shortened(linked), refusal: result })
}

/** Ids and codes are shorter; what is not is wrong however much of it is shown again. */
const shortened = ({ userId, code, key, organization, request }: Linked): Linked => ({
  userId: userId.slice(0, 200),
  code: code.slice(0, 200),
  key: key.slice(0, 200),
  organization: organization.slice(0, 200),
  request: request.slice(0, 200),
})

function linkPage(
  loginContext: LoginContext,
  { kind, linked }: Asked,
  refusal?: "wrong" | "missing" | { readonly retryAfterSeconds: number },
): Promise<Response> {
  const form = targetOf(loginContext, kinds[kind].action)
  const seconds = typeof refusal === "object" ? refusal.retryAfterSeconds : 0
  const problem: LinkProblem | undefined =
    typeof refusal === "object" ? { minutes: Math.ceil(seconds / 60) } : refusal
  const onwardHref = onwardFrom(loginContext, kind)
  const status = seconds ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.LinkPage({ ...shared, kind, form, linked, problem, onwardHref }),
    // Before the code is right it looks like nobody's in particular: anybody can write a link.
    { ...optionsOf(loginContext, problem ? status : 200), retryAfterSeconds: seconds },
  )
}

/** Where who has no good code gets another, or does without; undefined where nowhere. */
function onwardFrom(loginContext: LoginContext, kind: LinkKind): string | undefined {
  if (kind === "reset") return forgotHref(loginContext, "")
  if (kind !== "register") return loginPaths.entry
  // Whoever came by a sign-up link may have no other way: they open it again.
  const { cx, waiting } = loginContext
  const isOpen = registrationHome(cx, waiting?.asked.home) !== undefined
  return isOpen ? hrefOf(loginContext, loginPaths.register) : undefined
}

/** What the page says on which somebody chooses a password whose code was right. */
type Choosing = {
  readonly page: LinkKind | "register_org"
  readonly linked: Linked
  readonly action: string
  readonly orgId: string
  /** Whom the password is for, and what it has to be; without a word, the user's. */
  readonly account?: Account
  readonly rules?: PasswordRules
  /** What they may take instead. */
  readonly passkey?: Omit<FirstPasskey, "error"> | undefined
  readonly words: (t: Translate) => {
    readonly title: string
    readonly lead: string
    readonly submit: string
  }
}

/** What was wrong with what somebody chose to sign in with. */
export type ChoiceProblem =
  | NewPasswordProblem
  | { readonly at: "passkey"; readonly key: "factor.error.key" }

type Translate = Parameters<Parameters<LoginContext["show"]>[1]>[1]["t"]

export function linkPasswordPage(
  loginContext: LoginContext,
  { page, linked, action, orgId, words, ...given }: Choosing,
  problem?: ChoiceProblem,
): Promise<Response> {
  const { cx } = loginContext
  const form = targetOf(loginContext, action)
  const account = given.account ?? accountOf(cx, linked.userId)
  const rules = given.rules ?? complexityFor(cx, linked.userId)
  return loginContext.show(
    cx,
    (ui, shared) => {
      const t = shared.t.on(page)
      const said = problem && t(problem.key, { rules: ui.rulesIn(t, rules) })
      const { passkey: error, ...errors } = problem ? { [problem.at]: said } : {}
      const passkey = given.passkey && { ...given.passkey, error }
      const told = { page, form, linked, account, rules, errors, passkey }
      return ui.LinkPasswordPage({ ...shared, ...words(t), ...told })
    },
    { ...optionsOf(loginContext, problem ? 422 : 200), orgId },
  )
}
