import { isLinkTakenError } from "../../../domain/federation/index.ts"
import {
  consumeIntent,
  findIntentOfBrowser,
  idpExists,
  idpNotFoundError,
  signInMethodOf,
  startIntent,
} from "../../../domain/idp/index.ts"
import { findLinkedUser } from "../../../domain/user-link/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import {
  accountOf,
  formTargetOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { doneHref } from "../../part/done.ts"
import { directoryState, linkingState } from "../../part/provider.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { findLinkableByTicket, findLinkableProvider } from "./linkable.ts"
import { findNewcomer, linkUser, type Newcomer } from "./newcomer.ts"
import { showProviderFailure } from "./outcome.ts"
import { applyOrgScripts } from "./sign-in.ts"

/** GET: starts with a ticket; without one, shows both accounts and asks for confirmation. */
function showLinking(loginContext: LoginContext): Promise<Response> | Response {
  const ticket = new URL(loginContext.request.url).searchParams.get("ticket")
  if (ticket !== null) return startLinking(loginContext, ticket)
  const pending = findPendingLinking(loginContext, linkingState.of(loginContext)?.intentId ?? "")
  if (!pending) return overPage(loginContext)
  if (pending.isTaken) return takenPage(loginContext)
  const { cx } = loginContext
  const { found, identity, intent } = pending.newcomer
  const page = {
    provider: found.idp.name,
    identity,
    intentId: intent.id,
    form: formTargetOf(loginContext, loginPaths.externalLink),
    account: accountOf(cx, pending.userId),
    accountHref: accountSecurityPath,
  }
  return loginContext.show(
    cx,
    (ui, shared) => ui.LinkingPage({ ...shared, ...page }),
    optionsOf(loginContext),
  )
}

async function startLinking(loginContext: LoginContext, ticket: string): Promise<Response> {
  const { cx, browserContext } = loginContext
  const linking = findLinkableByTicket(loginContext, ticket)
  if (!linking) return overPage(loginContext)
  const { found, userId } = linking
  if (signInMethodOf(found.idp.settings) === "directory") {
    return directoryState.next(loginContext, { idpId: found.idp.id, ticket })
  }
  try {
    const { authUrl } = await startIntent(cx, found, {
      agentId: browserContext.browser.id,
      requestId: "",
      creatorId: "",
      linkUserId: userId,
      successUrl: "",
      failureUrl: "",
    })
    return redirectTo(authUrl, browserContext.browser.setCookie)
  } catch (cause) {
    return showProviderFailure(loginContext, cause)
  }
}

type PendingLinking = {
  readonly newcomer: Newcomer
  readonly userId: string
  /** Whether the external account is already linked to another user. */
  readonly isTaken: boolean
}

/**
 * The pending linking; undefined if it is over, belongs to another browser, or is no longer
 * allowed.
 */
function findPendingLinking(
  loginContext: LoginContext,
  intentId: string,
): PendingLinking | undefined {
  const { cx, browserContext } = loginContext
  const newcomer = findNewcomer(
    loginContext,
    findIntentOfBrowser(cx, intentId, browserContext.browser.id),
  )
  const userId = newcomer?.intent.linkUserId
  if (!newcomer || userId === undefined) return undefined
  const { idpId } = newcomer.intent
  if (!findLinkableProvider(loginContext, { userId, idpId })) return undefined
  const { externalId } = newcomer.identity
  return { newcomer, userId, isTaken: findLinkedUser(cx, { idpId, externalId }) !== undefined }
}

/** POST: the user confirms that both accounts are theirs. */
async function postLinking(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const pending = findPendingLinking(loginContext, fields.get("intent"))
  if (!pending) return overPage(loginContext)
  const { userId, newcomer } = pending
  const { intent, found } = newcomer
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const currentNewcomer = await applyOrgScripts(loginContext, newcomer, { orgId, userId })
  try {
    await cx.store.transact(cx, (tx) => {
      consumeIntent(tx, intent)
      if (!idpExists(tx, { idpId: found.idp.id, idpOrg: found.place ?? "" }))
        throw idpNotFoundError()
      linkUser(tx, userId, currentNewcomer)
    })
  } catch (cause) {
    if (isLinkTakenError(cause)) return takenPage(loginContext)
    throw cause
  }
  return redirectTo(doneHref(loginContext, "linking", userId) ?? accountSecurityPath)
}

const takenPage = (loginContext: LoginContext): Promise<Response> | Response =>
  showProblem(loginContext, {
    problem: "provider_taken",
    status: 409,
    accountHref: accountSecurityPath,
  })

const overPage = (loginContext: LoginContext): Promise<Response> | Response =>
  showProblem(loginContext, { problem: "expired", accountHref: accountSecurityPath })

export const linkingScreen: Screen = {
  path: loginPaths.externalLink,
  get: showLinking,
  post: postLinking,
}
