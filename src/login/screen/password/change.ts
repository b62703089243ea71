import {
  complexityFor,
  prepareReplacement,
  replacePassword,
} from "../../../domain/credential/index.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  accountOf,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { doneHref } from "../../part/done.ts"
import { type NewPasswordProblem, parseNewPassword } from "../../part/new-password.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { type BrowserContext, isUserOrgActive } from "../../session.ts"

/** What a user has just proved: that they know this version of the password. */
export type PasswordProof = { readonly userId: string; readonly version: number }

const proofMinutes = 10

/**
 * Seals the proof into the next page. It is valid only in this browser, for a few minutes and once:
 * changing the password increments its version.
 */
export const sealProof = (
  cx: Cx,
  browserContext: BrowserContext,
  { userId, version }: PasswordProof,
): string => {
  const expires = cx.clock.now() + proofMinutes * 60_000
  return cx.secrets.seal(
    "cookie",
    JSON.stringify([userId, version, expires]),
    sealContextOf(cx, browserContext),
  )
}

function openProof({ cx, browserContext }: LoginContext, proof: string): PasswordProof | undefined {
  const plain = cx.secrets.open("cookie", proof, sealContextOf(cx, browserContext))
  if (plain === undefined) return undefined
  const [userId, version, expires] = JSON.parse(plain)
  return cx.clock.now() < expires ? { userId, version } : undefined
}

const sealContextOf = (cx: Cx, { browser }: BrowserContext) =>
  `password_change/${cx.instance}/${browser.id}`

type PasswordChangeState = {
  readonly proof: string
  /** Whether the password has not expired yet. */
  readonly isEarly?: boolean
  readonly problem?: NewPasswordProblem
}

/** State of the page after a correct password that must be changed. */
export const passwordChangeState = pageStateFor<PasswordChangeState>(loginPaths.passwordChange)

/** GET: asks for the new password. Without a proof, redirects to the first page. */
function showPasswordChange(loginContext: LoginContext): Promise<Response> | Response {
  const state = passwordChangeState.of(loginContext)
  if (!state) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const { proof, isEarly = false, problem } = state
  const passwordProof = openProof(loginContext, proof)
  if (!passwordProof) return showProblem(loginContext, { problem: "expired" })
  return passwordChangePage(loginContext, { userId: passwordProof.userId, proof, isEarly }, problem)
}

function passwordChangePage(
  loginContext: LoginContext,
  state: { readonly userId: string; readonly proof: string; readonly isEarly: boolean },
  problem?: NewPasswordProblem,
): Promise<Response> {
  const form = formTargetOf(loginContext, loginPaths.passwordChange)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const account = accountOf(loginContext.cx, state.userId)
  const { proof, isEarly } = state
  const rules = complexityFor(loginContext.cx, state.userId)
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const errors = problem && {
        [problem.at]: shared.t(problem.key, { rules: ui.formatRules(shared.t, rules) }),
      }
      const page = { form, proof, account, changeHref, isEarly, rules, errors }
      return ui.PasswordChangePage({ ...shared, ...page })
    },
    optionsOf(loginContext, problem ? 422 : 200, state.userId),
  )
}

/** POST: changes the password and signs in with it, in one transaction. */
async function postPasswordChange(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const proof = fields.get("proof")
  const passwordProof = openProof(loginContext, proof)
  if (!passwordProof || !isUserOrgActive(cx, passwordProof.userId))
    return showProblem(loginContext, { problem: "expired" })
  const { userId, version } = passwordProof
  const password = await parseNewPassword(fields, (plain) =>
    prepareReplacement(cx, userId, { plain, version }),
  )
  if ("key" in password) return passwordChangeState.next(loginContext, { proof, problem: password })
  return completeSignIn<never>(loginContext, {
    userId,
    first: (tx) => void replacePassword.within(tx, userId, { version, password }),
    stopAt: () => doneHref(loginContext, "password_change", userId),
    method: "password",
  })
}

export const passwordChangeScreen: Screen = {
  path: loginPaths.passwordChange,
  get: showPasswordChange,
  post: postPasswordChange,
}
