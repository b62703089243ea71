import { findClient } from "../../domain/app/index.ts"
import { rolesHeld } from "../../domain/authorization/index.ts"
import { failRequest, type Requested } from "../../domain/grant/index.ts"
import { type Session, sessionNow } from "../../domain/session/index.ts"
import {
  accountOf,
  applicationName,
  type BrowserContext,
  type ShowPage,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { isOrdinary } from "../refusal.ts"
import { type Preview, preview } from "../token/issue.ts"
import { projectsInIdToken } from "../token/scope.ts"
import { tokenParentOf } from "../token/token-parent.ts"
import type { Ready } from "./complete.ts"
import { identityOf } from "./identity.ts"
import { usualClaims } from "./usual-claims.ts"

// An administrator tries out how people sign in to an application. All goes as it does for
// everybody, up to the answer: that is a page for the browser in which the administrator is signed
// in, with what the application would be told. There is no code, no token and no redirect.

/** Whether a request is no test, or who tries it out is signed in to the browser that comes. */
export const isTester = (
  { present }: BrowserContext,
  { testedBy }: Pick<Requested, "testedBy">,
): boolean => testedBy === undefined || present.some(({ userId }) => userId === testedBy)

type Shown = {
  readonly clientId: string
  readonly cookies: readonly (string | undefined)[]
}

/** Ends a test whose person has signed in, and shows what the application would be told of them. */
export async function showTested(
  cx: Cx,
  show: ShowPage,
  { ready, cookies }: Pick<Shown, "cookies"> & { readonly ready: Ready },
): Promise<Response | undefined> {
  const { id, asked, sessionId, keep } = ready
  // One that was kept while its person signed in is over now.
  if (!keep) await cx.store.transact(cx, (tx) => failRequest(tx, id, "tested"))
  const session = sessionNow(cx, sessionId)
  if (!session) return undefined
  const { clientId } = asked
  const { userId } = session
  const projectId = findClient(cx, clientId)?.state.projectId ?? ""
  const roles = rolesHeld(cx, userId, projectId).flatMap(({ keys }) => keys)
  try {
    const told = await previewOf(cx, ready, session)
    const account = accountOf(cx, userId)
    const claims = usualClaims(told, asked.scopes)
    const { scopes, leftOut = [] } = asked
    const result = { account, roles: [...new Set(roles)], told, scopes, leftOut, claims }
    return await showPage(cx, show, { clientId, cookies, result })
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    return showTestRefused(cx, show, { clientId, cookies, refusal: cause })
  }
}

function previewOf(cx: Cx, { asked, sessionId }: Ready, session: Session): Promise<Preview> {
  const { clientId, appId, audience, scopes } = asked
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") throw new Error("an application was removed within one step")
  const { tokenType, clockSkewSeconds, idTokenUserinfoAssertion } = state.oidc
  const projects = projectsInIdToken(cx, state)
  const isIdTokenAlone = asked.responseType === "id_token"
  const withUserClaims = isIdTokenAlone || idTokenUserinfoAssertion
  return preview(cx, {
    isIdTokenAlone,
    grantId: tokenParentOf("session", `${sessionId}/${appId}`),
    userId: session.userId,
    clientId,
    audience,
    scopes,
    tokenType,
    clockSkewSeconds,
    identity: identityOf(asked, { sessionId, session, projects, withUserClaims }),
  })
}

type Refusal = Pick<OAuthError, "description"> & { readonly error: string }

/** Shows why a test ended without anybody signed in; the list of refused requests says more. */
export const showTestRefused = (
  cx: Cx,
  show: ShowPage,
  { refusal, ...shown }: Shown & { readonly refusal: Refusal },
): Promise<Response> =>
  showPage(cx, show, {
    ...shown,
    refusal: { ...refusal, requestId: isOrdinary(refusal.error) ? undefined : cx.requestId },
  })

type Page = Shown & Partial<Pick<Parameters<Ui["TestPage"]>[0], "result" | "refusal">>
type Ui = Parameters<Parameters<ShowPage>[1]>[0]

function showPage(cx: Cx, show: ShowPage, page: Page): Promise<Response> {
  const { clientId, cookies, result, refusal } = page
  const application = applicationName(cx, clientId)
  const backHref = `/ui/console/applications/${findClient(cx, clientId)?.appId ?? ""}`
  return show(
    cx,
    (ui, shared) => ui.TestPage({ ...shared, application, backHref, result, refusal }),
    { cookies, status: refusal ? 400 : 200, isFramed: false },
  )
}
