import { isTaken } from "../../../domain/federation/index.ts"
import {
  consumeIntent,
  entranceOf,
  intentOfBrowser,
  isIdpThere,
  missingError,
  startIntent,
} from "../../../domain/idp/index.ts"
import { linkedUser } from "../../../domain/user-link/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { accountOf, type LoginContext, optionsOf, type Screen, targetOf } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { doneHref } from "../../part/done.ts"
import { directories, linkings } from "../../part/provider.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { newcomerAt } from "./enter.ts"
import { linkingBy, linkingOf } from "./linkable.ts"
import { failed } from "./outcome.ts"
import { link, type Newcomer, newcomerOf } from "./person.ts"

/** GET: begins with a ticket; without one it asks, showing both accounts, before it links them. */
function askLinking(loginContext: LoginContext): Promise<Response> | Response {
  const ticket = new URL(loginContext.request.url).searchParams.get("ticket")
  if (ticket !== null) return begin(loginContext, ticket)
  const asked = askedBy(loginContext, linkings.of(loginContext)?.intentId ?? "")
  if (!asked) return overPage(loginContext)
  if (asked.isTaken) return takenPage(loginContext)
  const { cx } = loginContext
  const { found, identity, intent } = asked.newcomer
  const page = {
    provider: found.idp.name,
    identity,
    intentId: intent.id,
    form: targetOf(loginContext, loginPaths.externalLink),
    account: accountOf(cx, asked.userId),
    accountHref: accountSecurityPath,
  }
  return loginContext.show(
    cx,
    (ui, shared) => ui.LinkingPage({ ...shared, ...page }),
    optionsOf(loginContext),
  )
}

async function begin(loginContext: LoginContext, ticket: string): Promise<Response> {
  const { cx, browserContext } = loginContext
  const linking = linkingBy(loginContext, ticket)
  if (!linking) return overPage(loginContext)
  const { found, userId } = linking
  if (entranceOf(found.idp.settings) === "directory") {
    return directories.next(loginContext, { idpId: found.idp.id, ticket })
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
    return goTo(authUrl, browserContext.browser.setCookie)
  } catch (cause) {
    return failed(loginContext, cause)
  }
}

type Asked = {
  readonly newcomer: Newcomer
  readonly userId: string
  /** Whether who came back is somebody else's here. */
  readonly isTaken: boolean
}

/** What is asked for still; undefined where it is over, another browser's, or no longer allowed. */
function askedBy(loginContext: LoginContext, intentId: string): Asked | undefined {
  const { cx, browserContext } = loginContext
  const newcomer = newcomerOf(
    loginContext,
    intentOfBrowser(cx, intentId, browserContext.browser.id),
  )
  const userId = newcomer?.intent.linkUserId
  if (!newcomer || userId === undefined) return undefined
  const { idpId } = newcomer.intent
  if (!linkingOf(loginContext, { userId, idpId })) return undefined
  const { externalId } = newcomer.identity
  return { newcomer, userId, isTaken: linkedUser(cx, { idpId, externalId }) !== undefined }
}

/** The person has seen both accounts, and says that they are theirs. */
async function takeLinking(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const asked = askedBy(loginContext, fields.get("intent"))
  if (!asked) return overPage(loginContext)
  const { userId, newcomer } = asked
  const { intent, found } = newcomer
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const come = await newcomerAt(loginContext, newcomer, { orgId, userId })
  try {
    await cx.store.transact(cx, (tx) => {
      consumeIntent(tx, intent)
      if (!isIdpThere(tx, { idpId: found.idp.id, idpOrg: found.place ?? "" })) throw missingError()
      link(tx, userId, come)
    })
  } catch (cause) {
    if (isTaken(cause)) return takenPage(loginContext)
    throw cause
  }
  return goTo(doneHref(loginContext, "linking", userId) ?? accountSecurityPath)
}

const takenPage = (loginContext: LoginContext): Promise<Response> | Response =>
  trouble(loginContext, {
    problem: "provider_taken",
    status: 409,
    accountHref: accountSecurityPath,
  })

const overPage = (loginContext: LoginContext): Promise<Response> | Response =>
  trouble(loginContext, { problem: "expired", accountHref: accountSecurityPath })

export const linkingScreen: Screen = {
  path: loginPaths.externalLink,
  get: askLinking,
  post: takeLinking,
}
