import { activeProvider } from "../../../domain/message-provider/index.ts"
import { login, policyOf } from "../../../domain/policy/index.ts"
import { askReset } from "../../../domain/user/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { hrefOf, type LoginContext, optionsOf, targetOf } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { pagesOf } from "../../page.ts"
import { loginPaths } from "../../path.ts"

const nameMax = 200

/**
 * Where somebody goes on who has forgotten the password of a name; undefined where the policy hides
 * it, or no mail would arrive. The policy is that of the page: the person's own would tell who is
 * here. The name is for this browser's eyes, and stands in no log.
 */
export function forgotHref(loginContext: LoginContext, loginName: string): string | undefined {
  if (isHidden(loginContext)) return undefined
  return loginName === ""
    ? hrefOf(loginContext, loginPaths.forgot)
    : forgotten.href(loginContext, { loginName })
}

/** Whose password it was, and what was wrong with that. */
const forgotten = notesFor<{ readonly loginName: string; readonly problem?: Problem }>(
  loginPaths.forgot,
)

function isHidden(loginContext: LoginContext): boolean {
  return isHiddenByPolicy(loginContext) || !canMail(loginContext)
}

/** Whether the page has to name somebody to ask, for no link would arrive. */
export const hasToAsk = (loginContext: LoginContext): boolean =>
  !canMail(loginContext) && !isHiddenByPolicy(loginContext)

function isHiddenByPolicy({ cx, waiting }: LoginContext): boolean {
  return policyOf(cx, pagesOf(cx, waiting?.asked.home)?.id ?? "", login).hidePasswordReset
}

/** Whether a mail would go anywhere. */
export const canMail = ({ cx }: Pick<LoginContext, "cx">): boolean =>
  activeProvider(cx, "email") !== undefined

/** GET: asks whose password it was. */
export function askForgot(loginContext: LoginContext): Promise<Response> | Response {
  if (isHidden(loginContext)) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const { loginName = "", problem } = forgotten.of(loginContext) ?? {}
  return forgotPage(loginContext, loginName, problem)
}

/** Somebody asks for a link; whatever comes of it, the next page is the same. */
export async function takeForgot(loginContext: LoginContext, fields: Fields): Promise<Response> {
  if (isHidden(loginContext)) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const loginName = fields.get("loginName").trim()
  if (loginName === "" || loginName.length > nameMax) {
    const problem = { isMissing: true } as const
    return forgotten.next(loginContext, { loginName: loginName.slice(0, nameMax), problem })
  }
  try {
    const { cx, waiting } = loginContext
    await askReset(cx, loginName, waiting && { requestId: waiting.id })
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return forgotten.next(loginContext, { loginName, problem: { retryAfterSeconds } })
  }
  return goTo(hrefOf(loginContext, loginPaths.forgotSent))
}

export const showForgotSent = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) =>
      ui.ForgotSentPage({ ...shared, backHref: hrefOf(loginContext, loginPaths.loginName) }),
    optionsOf(loginContext),
  )

type Problem = { readonly isMissing: true } | { readonly retryAfterSeconds: number }

function forgotPage(
  loginContext: LoginContext,
  loginName: string,
  problem?: Problem,
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.forgot)
  const backHref = hrefOf(loginContext, loginPaths.loginName)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  const status = seconds ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const minutes = Math.ceil(seconds / 60)
      const busy = seconds ? shared.t("password.error.too_many_tries", { minutes }) : undefined
      const error = problem && (busy ?? shared.t("login_name.error.missing"))
      return ui.ForgotPage({ ...shared, form, loginName, error, backHref })
    },
    { ...optionsOf(loginContext, problem ? status : 200), retryAfterSeconds: seconds },
  )
}
