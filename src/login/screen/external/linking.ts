import { isTaken, linkableIdps, openTicket } from "../../../domain/federation/index.ts"
import {
  consumeIntent,
  entranceOf,
  type Found,
  intentOfBrowser,
  isIdpThere,
  missingError,
  startIntent,
} from "../../../domain/idp/index.ts"
import { linkedUser, user } from "../../../domain/user/index.ts"
import { accountOf, type LoginContext, optionsOf, targetOf } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { directories, linkings } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { doneHref } from "../account/done.ts"
import { failed } from "./callback.ts"
import { newcomerAt } from "./enter.ts"
import { link, type Newcomer, newcomerOf, provenHere } from "./person.ts"

/** Where people find what they are linked to. */
export const accountPage = "/ui/account/security"

type Wanted = { readonly userId: string; readonly idpId: string }

/** The provider that is to be linked; undefined where it may not be, or its person is not here. */
export function linkingOf(loginContext: LoginContext, { userId, idpId }: Wanted) {
  const { cx } = loginContext
  const found = linkableIdps(cx, userId).find(({ idp }) => idp.id === idpId)
  const isHere = found && provenHere(loginContext, found).some((each) => each.userId === userId)
  return isHere ? found : undefined
}

/** The same by what began it. */
export function linkingBy(
  loginContext: LoginContext,
  sealed: string,
): { readonly found: Found; readonly userId: string } | undefined {
  const ticket = openTicket(loginContext.cx, sealed)
  const found = ticket && linkingOf(loginContext, ticket)
  return ticket && found && { found, userId: ticket.userId }
}

/** GET: begins with a ticket; without one it asks, showing both accounts, before it links them. */
export function askLinking(loginContext: LoginContext): Promise<Response> | Response {
  const ticket = new URL(loginContext.request.url).searchParams.get("ticket")
  if (ticket !== null) return begin(loginContext, ticket)
  const asked = askedBy(loginContext, linkings.of(loginContext)?.intentId ?? "")
  if (!asked) return overPage(loginContext)
  if (asked.isTaken) return takenPage(loginContext)
  const { cx } = loginContext
  const { found, identity, intent } = asked.newcomer
  const page = {
    ...{ provider: found.idp.name, identity, intentId: intent.id },
    form: targetOf(loginContext, loginPaths.externalLink),
    account: accountOf(cx, asked.userId),
    accountHref: accountPage,
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
      ...{ agentId: browserContext.browser.id, requestId: "", creatorId: "" },
      ...{ linkUserId: userId, successUrl: "", failureUrl: "" },
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
export async function takeLinking(loginContext: LoginContext, fields: Fields): Promise<Response> {
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
  return goTo(doneHref(loginContext, "linking", userId) ?? accountPage)
}

const takenPage = (loginContext: LoginContext): Promise<Response> | Response =>
  trouble(loginContext, { problem: "provider_taken", status: 409, accountHref: accountPage })

const overPage = (loginContext: LoginContext): Promise<Response> | Response =>
  trouble(loginContext, { problem: "expired", accountHref: accountPage })
