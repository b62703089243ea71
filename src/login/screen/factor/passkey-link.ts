import { areKeysSupported, beginKey } from "../../../domain/factor/index.ts"
import { findHomeOrg } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import {
  accountOf,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { type Fields, parseLinkCode } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { attemptKeyRegistration, canSignInByPasskey } from "./attempt.ts"

/** State of the page of a link: the code was invalid, or the passkey can be registered. */
type PasskeyLinkState = LinkParameters & {
  readonly begun?: { readonly code: string; readonly tokenId: string; readonly options: string }
}

const linkState = pageStateFor<PasskeyLinkState>(loginPaths.passkeySet)

/** GET of a registration link; neither verifies nor uses the code. */
function showLink(loginContext: LoginContext): Promise<Response> | Response {
  if (!areKeysSupported(loginContext.cx)) {
    const reason = "factor_setup.no_keys" as const
    return showProblem(loginContext, { problem: "not_allowed", status: 403, reason })
  }
  const state = linkState.of(loginContext)
  if (state?.begun) return registrationPage(loginContext, state, state.begun)
  if (state) return linkPage(loginContext, state, "wrong")
  const { searchParams } = new URL(loginContext.request.url)
  const parameters = linkParametersIn({ get: (name) => searchParams.get(name) ?? "" })
  if (parameters.userId === "")
    return showProblem(loginContext, { problem: "not_found", status: 404 })
  return linkPage(loginContext, parameters)
}

/** POST: a code, which begins the registration, or a passkey, which signs in. */
async function postLink(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const parameters = linkParametersIn(fields)
  const { userId, codeId, linkKey } = parameters
  const given = fields.get("credential")
  const { code } = parseLinkCode(fields)
  if (userId === "" || userId.length > idMax || codeId.length > idMax) {
    return linkState.next(loginContext, { userId: userId.slice(0, idMax), codeId: "", linkKey: "" })
  }
  if (given !== "") {
    const tokenId = fields.get("tokenId")
    const refuses = (tx: Transaction) => !canSignInByPasskey(tx, userId)
    const key = { userId, kind: "passkey", tokenId, given, codeId, refuses } as const
    const result = await attemptKeyRegistration(loginContext, key)
    if (result.kind === "in") return result.answer
  }
  try {
    cx.allowance?.spend("guess")
    const link = { codeId, code, key: linkKey }
    const { tokenId, options } = await beginKey(cx, userId, { kind: "passkey", link })
    cx.allowance?.refund("guess")
    const begun = { code, tokenId, options: JSON.stringify(options) }
    return linkState.next(loginContext, { ...parameters, begun })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined)
      return showProblem(loginContext, {
        problem: "too_many_tries",
        status: 429,
        retryAfterSeconds,
      })
    // The response must not reveal whether the account exists.
    return linkState.next(loginContext, parameters)
  }
}

const idMax = 200

type LinkParameters = Readonly<Record<"userId" | "codeId" | "linkKey", string>>

const linkParametersIn = (fields: Fields): LinkParameters => ({
  userId: fields.get("userId"),
  codeId: fields.get("codeId"),
  linkKey: parseLinkCode(fields).key.slice(0, idMax),
})

function linkPage(
  loginContext: LoginContext,
  parameters: LinkParameters,
  problem?: "wrong",
): Promise<Response> {
  const form = formTargetOf(loginContext, loginPaths.passkeySet)
  return loginContext.show(
    loginContext.cx,
    (ui, { t, ...shared }) => {
      const error = problem && t("factor.error.wrong")
      return ui.PasskeyLinkPage({ ...shared, ...parameters, t, form, error })
    },
    optionsOf(loginContext, problem ? 422 : 200),
  )
}

function registrationPage(
  loginContext: LoginContext,
  { userId, codeId, linkKey }: LinkParameters,
  { code, tokenId, options }: NonNullable<PasskeyLinkState["begun"]>,
): Promise<Response> {
  const page = {
    kind: "passkey",
    form: formTargetOf(loginContext, loginPaths.passkeySet),
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    options,
    hidden: { userId, codeId, key: linkKey, code, tokenId },
  } as const
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.KeySetupPage({ ...shared, ...page }),
    { ...optionsOf(loginContext), orgId: findHomeOrg(loginContext.cx, userId) },
  )
}

export const passkeyLinkScreen: Screen = {
  path: loginPaths.passkeySet,
  get: showLink,
  post: postLink,
}
