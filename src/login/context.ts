import type { Account, Application, Destination, Target } from "../../ui/login/index.ts"
import { findReferencedApplication } from "../domain/app/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { label, policyOf } from "../domain/policy/index.ts"
import { csrfTokenOf } from "../domain/session/index.ts"
import { avatarPath } from "../domain/user/index.ts"
import { displayNames, findProfile } from "../domain/user-lookup/index.ts"
import { findHomeOrg } from "../domain/user-model/index.ts"
import { isOnDevice } from "../protocol/redirect-uri.ts"
import type { Cx } from "../store/index.ts"
import { brandingOrgOf } from "./appearance/private-labeling.ts"
import { requestedData } from "./appearance/requested-data.ts"
import type { Step } from "./flow.ts"
import type { Fields } from "./form.ts"
import type { PageOptions, ShowPage } from "./page.ts"
import { continuePath, loginPaths, withRequest } from "./path.ts"
import { type PendingRequest, requestedName, stepFor } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/** The context of a login page. */
export type LoginContext = {
  readonly cx: Cx
  readonly show: ShowPage
  readonly request: Request
  readonly browserContext: BrowserContext
  /** Absent if the user signs in without an application. */
  readonly waiting: PendingRequest | undefined
}

/** The context without the pending request. */
export type PageContext = Omit<LoginContext, "waiting">

type HandlerResult = Promise<Response> | Response

/** One page of the sign-in: its path and its handlers. */
export type Screen = {
  readonly path: string
  readonly get: (loginContext: LoginContext) => HandlerResult
  /** Absent if the page has no form. */
  readonly post?: (loginContext: LoginContext, fields: Fields) => HandlerResult
}

/** The form target of the context. */
export const formTargetOf = (
  { cx, browserContext, waiting }: LoginContext,
  action: string,
): Target => ({
  action,
  csrf: csrfTokenOf(cx, browserContext.browser),
  authRequest: waiting?.id,
})

/** A path with the request of the context. */
export const hrefOf = ({ waiting }: LoginContext, path: string): string =>
  withRequest(path, waiting?.id ?? "")

/** Where the browser is sent after sign-in. */
export const destinationAfterSignIn = ({ waiting }: Pick<LoginContext, "waiting">): string =>
  waiting ? continuePath(waiting) : loginPaths.signedIn

/** Options of every page in the context; `userId` is the authenticated user. */
export const optionsOf = (
  { cx, browserContext, waiting }: LoginContext,
  status = 200,
  userId = "",
): PageOptions => ({
  status,
  languages: waiting?.asked.languages ?? [],
  orgId: brandingOrgOf(cx, waiting?.asked, userId),
  cookies: [browserContext.browser.setCookie],
})

/** A user as shown to themselves on pages. */
export function accountOf(cx: Cx, userId: string): Account {
  const userProfile = findProfile(cx, userId)
  const userName = userProfile?.userName ?? ""
  const org = findHomeOrg(cx, userId)
  const { preferredLoginName: loginName } = displayNames(cx, { user_name: userName, org })
  // Posted login names must be found, so the full name is submitted even if a part is hidden.
  const shownAs = policyOf(cx, org, label).hideLoginNameSuffix ? userName : loginName
  const picture = avatarPath(cx, userId)
  return { displayName: userProfile?.name || shownAs, loginName, shownAs, picture }
}

/** The application of the pending request, and the user data that it receives. */
export function applicationOf({ cx, waiting }: LoginContext): Application | undefined {
  if (!waiting) return undefined
  const { clientId, audience } = waiting.asked
  const own = requireInstance(cx)
  const client = findReferencedApplication(cx, waiting.asked)
  const isConsole = clientId === own.consoleClientId
  const isForOurs = audience.includes(own.projectId) && !isConsole
  const manages = isForOurs ? (["manage"] as const) : []
  const isInDevelopment = client?.kind === "oidc" && client.oidc.devMode
  const name = requestedName(cx, waiting.asked)
  const unapprovedDestination = client?.registration && destinationOf(waiting)
  const metadataHost = unapprovedDestination && hostOf(clientId)
  const receivedData = [...requestedData(waiting.asked), ...manages]
  return {
    name,
    requestedData: receivedData,
    isInDevelopment,
    isConsole,
    unapprovedDestination,
    metadataHost,
  }
}

/** The host of a client ID that is the URL of a client metadata document; undefined for others. */
const hostOf = (clientId: string): string | undefined => URL.parse(clientId)?.host || undefined

/** Where the response is sent, in a form that users can judge. */
function destinationOf({ asked: { redirectUri, device } }: PendingRequest): Destination {
  if (device) return { kind: "elsewhere" }
  if (isOnDevice(redirectUri)) return { kind: "local" }
  return { kind: "web", host: new URL(redirectUri).host }
}

/** The next step of the sign-in. Without a pending request, the user only authenticates. */
export const stepOf = ({ cx, browserContext, waiting }: LoginContext): Step =>
  waiting ? stepFor(cx, waiting, browserContext.present) : { kind: "login name" }
