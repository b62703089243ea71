import { complexityFor, replacementOf, replacePassword } from "../../../domain/credential/index.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  accountOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { doneHref } from "../../part/done.ts"
import { type NewPasswordProblem, newPasswordIn } from "../../part/new-password.ts"
import { loginPaths } from "../../path.ts"
import { type BrowserContext, isHomeActive } from "../../session.ts"
import { trouble } from "../../trouble.ts"

/** What a person has just proved: that they know the password of this version. */
export type Proven = { readonly userId: string; readonly version: number }

const minutes = 10

/**
 * Notes for the next page what was proved. It counts in this browser only, for minutes, and once:
 * with the change the password has another version.
 */
export const writeProof = (
  cx: Cx,
  browserContext: BrowserContext,
  { userId, version }: Proven,
): string => {
  const expires = cx.clock.now() + minutes * 60_000
  return cx.secrets.seal(
    "cookie",
    JSON.stringify([userId, version, expires]),
    aboutOf(cx, browserContext),
  )
}

function readProof({ cx, browserContext }: LoginContext, proof: string): Proven | undefined {
  const plain = cx.secrets.open("cookie", proof, aboutOf(cx, browserContext))
  if (plain === undefined) return undefined
  const [userId, version, expires] = JSON.parse(plain)
  return cx.clock.now() < expires ? { userId, version } : undefined
}

const aboutOf = (cx: Cx, { browser }: BrowserContext) =>
  `password_change/${cx.instance}/${browser.id}`

type Asked = {
  readonly proof: string
  /** Whether it need not be replaced yet. */
  readonly isEarly?: boolean
  readonly problem?: NewPasswordProblem
}

/** Where a right password leads to that has to be replaced. */
export const changes = notesFor<Asked>(loginPaths.passwordChange)

/** GET: asks for the new password. Without anything proved, that happens on the first page. */
function askPasswordChange(loginContext: LoginContext): Promise<Response> | Response {
  const asked = changes.of(loginContext)
  if (!asked) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const { proof, isEarly = false, problem } = asked
  const proven = readProof(loginContext, proof)
  if (!proven) return trouble(loginContext, { problem: "expired" })
  return passwordChangePage(loginContext, { userId: proven.userId, proof, isEarly }, problem)
}

function passwordChangePage(
  loginContext: LoginContext,
  asked: { readonly userId: string; readonly proof: string; readonly isEarly: boolean },
  problem?: NewPasswordProblem,
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.passwordChange)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const account = accountOf(loginContext.cx, asked.userId)
  const { proof, isEarly } = asked
  const rules = complexityFor(loginContext.cx, asked.userId)
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const errors = problem && {
        [problem.at]: shared.t(problem.key, { rules: ui.rulesIn(shared.t, rules) }),
      }
      const page = { form, proof, account, changeHref, isEarly, rules, errors }
      return ui.PasswordChangePage({ ...shared, ...page })
    },
    optionsOf(loginContext, problem ? 422 : 200, asked.userId),
  )
}

/** Changes the password and signs in with it, in one step. */
async function takePasswordChange(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const proof = fields.get("proof")
  const proven = readProof(loginContext, proof)
  if (!proven || !isHomeActive(cx, proven.userId))
    return trouble(loginContext, { problem: "expired" })
  const { userId, version } = proven
  const password = await newPasswordIn(fields, (plain) =>
    replacementOf(cx, userId, { plain, version }),
  )
  if ("key" in password) return changes.next(loginContext, { proof, problem: password })
  return completeSignIn<never>(loginContext, {
    userId,
    first: (tx) => void replacePassword.within(tx, userId, { version, password }),
    stopAt: () => doneHref(loginContext, "password_change", userId),
    method: "password",
  })
}

export const passwordChangeScreen: Screen = {
  path: loginPaths.passwordChange,
  get: askPasswordChange,
  post: takePasswordChange,
}
