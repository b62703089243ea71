import { beginKey, hasKeys } from "../../../domain/factor/index.ts"
import { homeOf } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import {
  accountOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import { type Fields, linkCodeIn } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { keyAttempt, maySignInByPasskey } from "./attempt.ts"

/** The page of a link, as a form has left it: the code was wrong, or the passkey can be made. */
type LinkShown = LinkParameters & {
  readonly begun?: { readonly code: string; readonly tokenId: string; readonly options: string }
}

const links = notesFor<LinkShown>(loginPaths.passkeySet)

/** GET of a registration link; it looks at no code and uses none up. */
function askPasskeyLink(loginContext: LoginContext): Promise<Response> | Response {
  if (!hasKeys(loginContext.cx)) {
    const reason = "factor_setup.no_keys" as const
    return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
  }
  const note = links.of(loginContext)
  if (note?.begun) return makePage(loginContext, note, note.begun)
  if (note) return linkPage(loginContext, note, "wrong")
  const { searchParams } = new URL(loginContext.request.url)
  const named = linkParametersIn({ get: (name) => searchParams.get(name) ?? "" })
  if (named.userId === "") return trouble(loginContext, { problem: "not_found", status: 404 })
  return linkPage(loginContext, named)
}

/** The code was shown, which begins the registration; or the passkey is there, which signs in. */
async function takePasskeyLink(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const named = linkParametersIn(fields)
  const { userId, codeId, linkKey } = named
  const given = fields.get("credential")
  const { code } = linkCodeIn(fields)
  if (userId === "" || userId.length > idMax || codeId.length > idMax) {
    return links.next(loginContext, { userId: userId.slice(0, idMax), codeId: "", linkKey: "" })
  }
  if (given !== "") {
    const tokenId = fields.get("tokenId")
    const refuses = (tx: Transaction) => !maySignInByPasskey(tx, userId)
    const key = { userId, kind: "passkey", tokenId, given, codeId, refuses } as const
    const result = await keyAttempt(loginContext, key)
    if (result.kind === "in") return result.answer
  }
  try {
    cx.allowance?.spend("guess")
    const link = { codeId, code, key: linkKey }
    const { tokenId, options } = await beginKey(cx, userId, { kind: "passkey", link })
    cx.allowance?.refund("guess")
    const begun = { code, tokenId, options: JSON.stringify(options) }
    return links.next(loginContext, { ...named, begun })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined)
      return trouble(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
    // Whether there is such an account is not said.
    return links.next(loginContext, named)
  }
}

const idMax = 200

type LinkParameters = Readonly<Record<"userId" | "codeId" | "linkKey", string>>

const linkParametersIn = (fields: Fields): LinkParameters => ({
  userId: fields.get("userId"),
  codeId: fields.get("codeId"),
  linkKey: linkCodeIn(fields).key.slice(0, idMax),
})

function linkPage(
  loginContext: LoginContext,
  named: LinkParameters,
  problem?: "wrong",
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.passkeySet)
  return loginContext.show(
    loginContext.cx,
    (ui, { t, ...shared }) => {
      const error = problem && t("factor.error.wrong")
      return ui.PasskeyLinkPage({ ...shared, ...named, t, form, error })
    },
    optionsOf(loginContext, problem ? 422 : 200),
  )
}

function makePage(
  loginContext: LoginContext,
  { userId, codeId, linkKey }: LinkParameters,
  { code, tokenId, options }: NonNullable<LinkShown["begun"]>,
): Promise<Response> {
  const page = {
    kind: "passkey",
    form: targetOf(loginContext, loginPaths.passkeySet),
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    options,
    hidden: { userId, codeId, key: linkKey, code, tokenId },
  } as const
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.KeySetupPage({ ...shared, ...page }),
    { ...optionsOf(loginContext), orgId: homeOf(loginContext.cx, userId) },
  )
}

export const passkeyLinkScreen: Screen = {
  path: loginPaths.passkeySet,
  get: askPasskeyLink,
  post: takePasskeyLink,
}
