import { findClient } from "../../domain/app/index.ts"
import { listRolesByOrg } from "../../domain/authorization/index.ts"
import { type AuthorizationRequest, failRequest } from "../../domain/grant/index.ts"
import { findSession, type Session } from "../../domain/session/index.ts"
import {
  accountOf,
  applicationName,
  type BrowserContext,
  type ShowPage,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { isExpectedError } from "../rejected-request.ts"
import { type Preview, previewTokens } from "../token/issue.ts"
import { projectsInIdToken } from "../token/scope.ts"
import { tokenParentOf } from "../token/token-parent.ts"
import { listCommonClaims } from "./claim-locations.ts"
import type { CompletableRequest } from "./complete.ts"
import { identityOf } from "./identity.ts"

// An administrator tests how users sign in to an application. Everything happens as for other
// users, except the response: a page for the browser in which the administrator is signed in shows
// what the application would receive. There is no code, no token and no redirect.

/** Whether a request is no test, or the administrator who tests is signed in to this browser. */
export const isTester = (
  { present }: BrowserContext,
  { testedBy }: Pick<AuthorizationRequest, "testedBy">,
): boolean => testedBy === undefined || present.some(({ userId }) => userId === testedBy)

type TestPageOptions = {
  readonly clientId: string
  readonly cookies: readonly (string | undefined)[]
}

/** Ends a test after sign-in and shows what the application would receive about the user. */
export async function showTestResult(
  cx: Cx,
  show: ShowPage,
  { ready, cookies }: Pick<TestPageOptions, "cookies"> & { readonly ready: CompletableRequest },
): Promise<Response | undefined> {
  const { id, asked, sessionId, store } = ready
  // A stored request is over now.
  if (!store) await cx.store.transact(cx, (tx) => failRequest(tx, id, "tested"))
  const session = findSession(cx, sessionId)
  if (!session) return undefined
  const { clientId } = asked
  const { userId } = session
  const projectId = findClient(cx, clientId)?.state.projectId ?? ""
  const roles = listRolesByOrg(cx, userId, projectId).flatMap(({ keys }) => keys)
  try {
    const told = await previewOf(cx, ready, session)
    const account = accountOf(cx, userId)
    const claims = listCommonClaims(told, asked.scopes)
    const { scopes, leftOut = [] } = asked
    const result = { account, roles: [...new Set(roles)], received: told, scopes, leftOut, claims }
    return await showPage(cx, show, { clientId, cookies, result })
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    return showTestError(cx, show, { clientId, cookies, refusal: cause })
  }
}

function previewOf(
  cx: Cx,
  { asked, sessionId }: CompletableRequest,
  session: Session,
): Promise<Preview> {
  const { clientId, appId, audience, scopes } = asked
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") throw new Error("the application was removed within the transaction")
  const { tokenType, clockSkewSeconds, idTokenUserinfoAssertion } = state.oidc
  const projects = projectsInIdToken(cx, state)
  const isIdTokenAlone = asked.responseType === "id_token"
  const withUserClaims = isIdTokenAlone || idTokenUserinfoAssertion
  return previewTokens(cx, {
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

type TestError = Pick<OAuthError, "description"> & { readonly error: string }

/** Shows why a test ended without a sign-in; the list of rejected requests has the details. */
export const showTestError = (
  cx: Cx,
  show: ShowPage,
  { refusal, ...shown }: TestPageOptions & { readonly refusal: TestError },
): Promise<Response> =>
  showPage(cx, show, {
    ...shown,
    refusal: { ...refusal, requestId: isExpectedError(refusal.error) ? undefined : cx.requestId },
  })

type TestPageContent = TestPageOptions &
  Partial<Pick<Parameters<Ui["TestPage"]>[0], "result" | "refusal">>
type Ui = Parameters<Parameters<ShowPage>[1]>[0]

function showPage(cx: Cx, show: ShowPage, page: TestPageContent): Promise<Response> {
  const { clientId, cookies, result, refusal } = page
  const application = applicationName(cx, clientId)
  const backHref = `/ui/console/applications/${findClient(cx, clientId)?.appId ?? ""}`
  return show(
    cx,
    (ui, shared) => ui.TestPage({ ...shared, application, backHref, result, refusal }),
    { cookies, status: refusal ? 400 : 200, isFramed: false },
  )
}
