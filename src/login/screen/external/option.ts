import { authenticateWithPassword } from "../../../domain/credential/index.ts"
import { findIntentOfBrowser } from "../../../domain/idp/index.ts"
import { login, policyOf } from "../../../domain/policy/index.ts"
import { findDeviceId, findSignInObstacle } from "../../../domain/session/index.ts"
import { isProviderActiveFor } from "../../../domain/user-link/index.ts"
import { accountOf as accountNamed } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  accountOf,
  applicationOf,
  formTargetOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import type { Fields } from "../../form.ts"
import { type ExternalOptionState, externalOptionState } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { requirementOf } from "../../policy/factor-requirement.ts"
import { showProblem } from "../../problem.ts"
import { findDomainRejection } from "./allowed-domain.ts"
import {
  decideAccount,
  findNewcomer,
  type Newcomer,
  optionsFor,
  recentlySignedIn,
} from "./newcomer.ts"
import { correctableCodes, rejectCreation } from "./outcome.ts"
import { signInAndLink, signInNew } from "./sign-in.ts"

type PendingChoice = {
  readonly newcomer: Newcomer
  readonly note: ExternalOptionState
  readonly mayLink: boolean
  readonly mayCreate: boolean
}

/** The pending choice; undefined if the intent is over, or belongs to another browser. */
function findPendingChoice(
  loginContext: LoginContext,
  state: ExternalOptionState | undefined,
): PendingChoice | undefined {
  const { cx, browserContext } = loginContext
  if (!state) return undefined
  const intent = findIntentOfBrowser(cx, state.intentId, browserContext.browser.id)
  const newcomer = findNewcomer(loginContext, intent)
  const verdict = newcomer && decideAccount(loginContext, newcomer)
  if (!newcomer || !verdict) return undefined
  if (verdict.kind === "refuse" || verdict.kind === "barred") return undefined
  // An intent for linking must not sign in or create an account.
  if (newcomer.intent.linkUserId !== undefined) return undefined
  const { isLinkingAllowed: mayLink, isCreationAllowed: mayCreate } = optionsFor(
    loginContext,
    newcomer,
  )
  return { newcomer, note: state, mayLink, mayCreate }
}

/** GET: asks whether the user is new or already has an account. */
function showOptions(loginContext: LoginContext): Promise<Response> | Response {
  const pending = findPendingChoice(loginContext, externalOptionState.of(loginContext))
  if (!pending) return showProblem(loginContext, { problem: "expired" })
  const { newcomer, note: state, mayLink, mayCreate } = pending
  const { identity, found } = newcomer
  const { cx } = loginContext
  const present = mayLink ? recentlySignedIn(loginContext, newcomer.found) : []
  const page = {
    provider: found.idp.name,
    hasPasswords: policyOf(cx, loginContext.waiting?.asked.home ?? "", login).allowUsernamePassword,
    identity,
    mayLink,
    mayCreate,
    isDomainRefused: findDomainRejection(newcomer) !== undefined,
    problem: state.problem,
    intentId: state.intentId,
    form: formTargetOf(loginContext, loginPaths.externalOption),
    application: applicationOf(loginContext),
    accounts: present.map(({ id, userId }) => ({ session: id, ...accountOf(cx, userId) })),
  }
  return loginContext.show(
    cx,
    (ui, shared) => ui.ExternalPage({ ...shared, ...page }),
    optionsOf(loginContext, state.problem ? 422 : 200),
  )
}

/** POST: links an existing account, or creates one. */
async function postOption(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const intentId = fields.get("intent")
  const pending = findPendingChoice(loginContext, { intentId })
  if (!pending) return showProblem(loginContext, { problem: "expired" })
  if (fields.get("choice") === "create") return createAccount(loginContext, pending, fields)
  if (!pending.mayLink)
    return showProblem(loginContext, { problem: "provider_unlinked", status: 403 })
  const chosen = recentlySignedIn(loginContext, pending.newcomer.found).find(
    ({ id }) => id === fields.get("session"),
  )
  if (chosen) return signInAndLink(loginContext, pending.newcomer, chosen.userId)
  return linkByPassword(loginContext, pending, fields)
}

async function createAccount(
  loginContext: LoginContext,
  { newcomer, note: state, mayCreate }: PendingChoice,
  fields: Fields,
): Promise<Response> {
  if (!mayCreate) return rejectCreation(loginContext, newcomer)
  const entered = {
    givenName: fields.get("givenName").trim(),
    familyName: fields.get("familyName").trim(),
    email: fields.get("email").trim(),
    userName: fields.get("userName").trim(),
  }
  try {
    return await signInNew(loginContext, newcomer, entered)
  } catch (cause) {
    if (!(cause instanceof Fault) || !correctableCodes.has(cause.code)) throw cause
    return externalOptionState.next(loginContext, { intentId: state.intentId, problem: "taken" })
  }
}

/**
 * Links the account whose password was entered. If the password alone is not sufficient to sign in,
 * the user completes the sign-in first, and the account is linked then.
 */
async function linkByPassword(
  loginContext: LoginContext,
  { newcomer, note: state }: PendingChoice,
  fields: Fields,
): Promise<Response> {
  const { cx, browserContext } = loginContext
  const again = (problem: NonNullable<ExternalOptionState["problem"]>) =>
    externalOptionState.next(loginContext, { intentId: state.intentId, problem })
  const plain = fields.get("password")
  const account = accountNamed(cx, fields.get("loginName").trim())
  if (plain === "") return again("wrong")
  const tried = { account, plain, device: findDeviceId(cx, browserContext, account) }
  try {
    cx.allowance?.spend("guess")
    const obstacle = await authenticateWithPassword(cx, tried, async (admit) => {
      const step = await cx.store.transact(
        cx,
        (tx) => findSignInObstacle(tx, account, admit) ?? "right",
      )
      return step.value
    })
    // A correct password is no guess, even if the user can't sign in.
    if (obstacle !== "wrong" && obstacle !== "none") cx.allowance?.refund("guess")
    if (obstacle === "change required" || obstacle === "passkey required") return again("factor")
    if (obstacle !== "right") return again("wrong")
    const { factors, passkeyAlone, isForced, isForcedManager } = requirementOf(cx, account)
    const needsMore = factors.length > 0 || passkeyAlone || isForced || isForcedManager
    if (needsMore) return again("factor")
    if (!isProviderActiveFor(cx, newcomer.found.idp.id, account)) return again("wrong")
    return await signInAndLink(loginContext, newcomer, account)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.code === "resource_exhausted") return again("busy")
    if (cause.code === "invalid_argument") return again("wrong")
    throw cause
  }
}

export const optionScreen: Screen = {
  path: loginPaths.externalOption,
  get: showOptions,
  post: postOption,
}
