import { provePassword } from "../../../domain/credential/index.ts"
import { intentOfBrowser } from "../../../domain/idp/index.ts"
import { login, policyOf } from "../../../domain/policy/index.ts"
import { deviceOf, hindranceOf } from "../../../domain/session/index.ts"
import { letsUserIn } from "../../../domain/user-link/index.ts"
import { accountOf as accountNamed } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  accountOf,
  applicationOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import type { Fields } from "../../form.ts"
import { type OptionNote, options } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { needOf } from "../../policy/need.ts"
import { trouble } from "../../trouble.ts"
import { domainRefusalOf } from "./allowed-domain.ts"
import { enterLinking, enterNew } from "./enter.ts"
import { mendable, refuseCreation } from "./outcome.ts"
import { judged, type Newcomer, newcomerOf, optionsFor, provenHere } from "./person.ts"

type Asked = {
  readonly newcomer: Newcomer
  readonly note: OptionNote
  readonly mayLink: boolean
  readonly mayCreate: boolean
}

/** What is asked for still; undefined where the intent is over, or another browser's. */
function askedBy(loginContext: LoginContext, note: OptionNote | undefined): Asked | undefined {
  const { cx, browserContext } = loginContext
  if (!note) return undefined
  const intent = intentOfBrowser(cx, note.intentId, browserContext.browser.id)
  const newcomer = newcomerOf(loginContext, intent)
  const verdict = newcomer && judged(loginContext, newcomer)
  if (!newcomer || !verdict) return undefined
  if (verdict.kind === "refuse" || verdict.kind === "barred") return undefined
  // What was begun to link signs nobody in, and makes no account.
  if (newcomer.intent.linkUserId !== undefined) return undefined
  const { isLinkingAllowed: mayLink, isCreationAllowed: mayCreate } = optionsFor(
    loginContext,
    newcomer,
  )
  return { newcomer, note, mayLink, mayCreate }
}

/** GET of the page that asks whether somebody is new here or has an account already. */
function askOption(loginContext: LoginContext): Promise<Response> | Response {
  const asked = askedBy(loginContext, options.of(loginContext))
  if (!asked) return trouble(loginContext, { problem: "expired" })
  const { newcomer, note, mayLink, mayCreate } = asked
  const { identity, found } = newcomer
  const { cx } = loginContext
  const present = mayLink ? provenHere(loginContext, newcomer.found) : []
  const page = {
    provider: found.idp.name,
    hasPasswords: policyOf(cx, loginContext.waiting?.asked.home ?? "", login).allowUsernamePassword,
    identity,
    mayLink,
    mayCreate,
    isDomainRefused: domainRefusalOf(newcomer) !== undefined,
    problem: note.problem,
    intentId: note.intentId,
    form: targetOf(loginContext, loginPaths.externalOption),
    application: applicationOf(loginContext),
    accounts: present.map(({ id, userId }) => ({ session: id, ...accountOf(cx, userId) })),
  }
  return loginContext.show(
    cx,
    (ui, shared) => ui.ExternalPage({ ...shared, ...page }),
    optionsOf(loginContext, note.problem ? 422 : 200),
  )
}

/** The choice was made: to link an account that is here, or to make one. */
async function takeOption(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const intentId = fields.get("intent")
  const asked = askedBy(loginContext, { intentId })
  if (!asked) return trouble(loginContext, { problem: "expired" })
  if (fields.get("choice") === "create") return create(loginContext, asked, fields)
  if (!asked.mayLink) return trouble(loginContext, { problem: "provider_unlinked", status: 403 })
  const chosen = provenHere(loginContext, asked.newcomer.found).find(
    ({ id }) => id === fields.get("session"),
  )
  if (chosen) return enterLinking(loginContext, asked.newcomer, chosen.userId)
  return linkByPassword(loginContext, asked, fields)
}

async function create(
  loginContext: LoginContext,
  { newcomer, note, mayCreate }: Asked,
  fields: Fields,
): Promise<Response> {
  if (!mayCreate) return refuseCreation(loginContext, newcomer)
  const said = {
    givenName: fields.get("givenName").trim(),
    familyName: fields.get("familyName").trim(),
    email: fields.get("email").trim(),
    userName: fields.get("userName").trim(),
  }
  try {
    return await enterNew(loginContext, newcomer, said)
  } catch (cause) {
    if (!(cause instanceof Fault) || !mendable.has(cause.code)) throw cause
    return options.next(loginContext, { intentId: note.intentId, problem: "taken" })
  }
}

/**
 * Links the account whose password is given. Where a password alone does not let its person in it
 * is half of the proof: they sign in first, and link it then.
 */
async function linkByPassword(
  loginContext: LoginContext,
  { newcomer, note }: Asked,
  fields: Fields,
): Promise<Response> {
  const { cx, browserContext } = loginContext
  const again = (problem: NonNullable<OptionNote["problem"]>) =>
    options.next(loginContext, { intentId: note.intentId, problem })
  const plain = fields.get("password")
  const account = accountNamed(cx, fields.get("loginName").trim())
  if (plain === "") return again("wrong")
  const tried = { account, plain, device: deviceOf(cx, browserContext, account) }
  try {
    cx.allowance?.spend("guess")
    const way = await provePassword(cx, tried, async (admit) => {
      const step = await cx.store.transact(cx, (tx) => hindranceOf(tx, account, admit) ?? "right")
      return step.value
    })
    // Users who know the password have not guessed, also if they are kept out.
    if (way !== "wrong" && way !== "none") cx.allowance?.refund("guess")
    if (way === "change required" || way === "passkey required") return again("factor")
    if (way !== "right") return again("wrong")
    const { factors, passkeyAlone, isForced, isForcedManager } = needOf(cx, account)
    const needsMore = factors.length > 0 || passkeyAlone || isForced || isForcedManager
    if (needsMore) return again("factor")
    if (!letsUserIn(cx, newcomer.found.idp.id, account)) return again("wrong")
    return await enterLinking(loginContext, newcomer, account)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.code === "resource_exhausted") return again("busy")
    if (cause.code === "invalid_argument") return again("wrong")
    throw cause
  }
}

export const optionScreen: Screen = {
  path: loginPaths.externalOption,
  get: askOption,
  post: takeOption,
}
