import type { Account, Application, Destination, Target } from "../../ui/login/index.ts"
import { applicationAskedFor } from "../domain/app/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { label, policyOf } from "../domain/policy/index.ts"
import { csrfOf } from "../domain/session/index.ts"
import { avatarPath } from "../domain/user/index.ts"
import { profile, shownNames } from "../domain/user-lookup/index.ts"
import { homeOf } from "../domain/user-model/index.ts"
import { isOnDevice } from "../protocol/redirect-uri.ts"
import type { Cx } from "../store/index.ts"
import type { Step } from "./flow.ts"
import type { Fields } from "./form.ts"
import { lookOrgOf } from "./look/labelling.ts"
import { learnedBy } from "./look/learned.ts"
import type { PageOptions, ShowPage } from "./page.ts"
import { continuePath, loginPaths, withRequest } from "./path.ts"
import { askedName, stepFor, type Waiting } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/** Everything that a page of the sign-in works with. */
export type LoginContext = {
  readonly cx: Cx
  readonly show: ShowPage
  readonly request: Request
  readonly browserContext: BrowserContext
  /** Absent where somebody signs in without an application to go to. */
  readonly waiting: Waiting | undefined
}

/** What is known before the request that waits. */
export type PageContext = Omit<LoginContext, "waiting">

type Answer = Promise<Response> | Response

/** One screen: its address, and what answers there. */
export type Screen = {
  readonly path: string
  readonly get: (loginContext: LoginContext) => Answer
  /** Absent where nothing is posted to it. */
  readonly post?: (loginContext: LoginContext, fields: Fields) => Answer
}

/** Where a form of the context posts to. */
export const targetOf = (
  { cx, browserContext, waiting }: LoginContext,
  action: string,
): Target => ({
  action,
  csrf: csrfOf(cx, browserContext.browser),
  authRequest: waiting?.id,
})

/** An address that keeps the request of the context. */
export const hrefOf = ({ waiting }: LoginContext, path: string): string =>
  withRequest(path, waiting?.id ?? "")

/** Where the browser goes when somebody has signed in. */
export const afterwards = ({ waiting }: Pick<LoginContext, "waiting">): string =>
  waiting ? continuePath(waiting) : loginPaths.signedIn

/** Options that every page of the context has; `userId` is who has shown who they are. */
export const optionsOf = (
  { cx, browserContext, waiting }: LoginContext,
  status = 200,
  userId = "",
): PageOptions => ({
  status,
  languages: waiting?.asked.languages ?? [],
  orgId: lookOrgOf(cx, waiting?.asked, userId),
  cookies: [browserContext.browser.setCookie],
})

/** A user as pages show them to whoever may know. */
export function accountOf(cx: Cx, userId: string): Account {
  const known = profile(cx, userId)
  const userName = known?.userName ?? ""
  const org = homeOf(cx, userId)
  const { preferredLoginName: loginName } = shownNames(cx, { user_name: userName, org })
  // What is posted has to be found, whatever is shown of it.
  const shownAs = policyOf(cx, org, label).hideLoginNameSuffix ? userName : loginName
  const picture = avatarPath(cx, userId)
  return { displayName: known?.name || shownAs, loginName, shownAs, picture }
}

/** The application that waits, and what it will learn. */
export function applicationOf({ cx, waiting }: LoginContext): Application | undefined {
  if (!waiting) return undefined
  const { clientId, audience } = waiting.asked
  const own = requireInstance(cx)
  const client = applicationAskedFor(cx, waiting.asked)
  const isOurs = clientId === own.consoleClientId
  const isForOurs = audience.includes(own.projectId) && !isOurs
  const manages = isForOurs ? (["manage"] as const) : []
  const isInDevelopment = client?.kind === "oidc" && client.oidc.devMode
  const name = askedName(cx, waiting.asked)
  const unvouched = client?.registration && destinationOf(waiting)
  const describedAt = unvouched && hostOf(clientId)
  const told = [...learnedBy(waiting.asked), ...manages]
  return { name, learns: told, isInDevelopment, isOurs, unvouched, describedAt }
}

/** The host of a client id that is the address of a document; of others there is none. */
const hostOf = (clientId: string): string | undefined => URL.parse(clientId)?.host || undefined

/** Where an answer goes, as a person can judge it. */
function destinationOf({ asked: { redirectUri, device } }: Waiting): Destination {
  if (device) return { kind: "elsewhere" }
  if (isOnDevice(redirectUri)) return { kind: "local" }
  return { kind: "web", host: new URL(redirectUri).host }
}

/** What must happen next; where nobody waits, somebody only says who they are. */
export const stepOf = ({ cx, browserContext, waiting }: LoginContext): Step =>
  waiting ? stepFor(cx, waiting, browserContext.present) : { kind: "login name" }
