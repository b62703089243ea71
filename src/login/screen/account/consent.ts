import { type ApiApp, type ApiScope, apisInAudience, scopesFor } from "../../../domain/app/index.ts"
import { canUseClient } from "../../../domain/app-access/index.ts"
import { projectAccessOf } from "../../../domain/authorization/index.ts"
import {
  allowRequest,
  denyConsent,
  rememberedSeconds,
  shownIdentityOf,
} from "../../../domain/grant/index.ts"
import { requireInstance } from "../../../domain/instance/index.ts"
import { org } from "../../../domain/org/index.ts"
import { project } from "../../../domain/project/index.ts"
import { createReader } from "../../../domain/user-model/index.ts"
import type { Cx } from "../../../store/index.ts"
import {
  accountOf,
  applicationOf,
  destinationAfterSignIn,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import type { PendingRequest } from "../../request.ts"

/**
 * GET: asks for consent, or explains why the user can't continue; redirects if neither is the next
 * step.
 */
function showConsent(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, show, browserContext, waiting } = loginContext
  const application = applicationOf(loginContext)
  if (!waiting || !application) return redirectTo(loginPaths.signedIn)
  const step = stepOf(loginContext)
  if (step.kind !== "consent" && step.kind !== "barred")
    return redirectTo(destinationAfterSignIn(loginContext))
  const userId = browserContext.present.find(({ id }) => id === step.sessionId)?.userId ?? ""
  const several = browserContext.present.length > 1
  const common = {
    form: formTargetOf(loginContext, loginPaths.consent),
    account: accountOf(cx, userId),
    changeHref: hrefOf(loginContext, several ? loginPaths.accounts : loginPaths.loginName),
  }
  if (step.kind === "barred") {
    const { bar: barrier } = step
    return show(
      cx,
      (ui, shared) =>
        ui.AccessDeniedPage({ ...shared, ...common, application: application.name, barrier }),
      optionsOf(loginContext, 403, userId),
    )
  }
  const { device } = waiting.asked
  const pageProps = {
    session: step.sessionId,
    application,
    userCode: device?.userCode,
    ...accessOf(cx, userId, waiting.asked),
    rememberedUntil: rememberedUntil(cx, waiting.asked),
    identity: shownIdentityOf(createReader(cx), waiting.asked.appId),
  }
  return show(
    cx,
    (ui, shared) => ui.ConsentPage({ ...shared, ...common, ...pageProps }),
    optionsOf(loginContext, 200, userId),
  )
}

/** When this consent would expire, ms UTC; undefined if it is not remembered. */
function rememberedUntil(cx: Cx, pageProps: PendingRequest["asked"]): number | undefined {
  const seconds = rememberedSeconds(cx, pageProps)
  return seconds === 0 ? undefined : cx.clock.now() + seconds * 1000
}

/**
 * Projects of other organizations that the application can access, with their owners. Projects that
 * the user can't sign in to are omitted, because the application gets no access to them. The
 * console's project has its own text.
 */
function foreignProjectsOf(
  cx: Cx,
  userId: string,
  foreign: PendingRequest["asked"]["foreign"] = [],
) {
  const own = requireInstance(cx).projectId
  return foreign
    .filter((id) => id !== own && projectAccessOf(cx, userId, id) === "yes")
    .map((id) => {
      const { name } = cx.store.state(cx, project, id)
      return { id, name, organization: organizationOf(cx, id) }
    })
}

type AccessRequest = Pick<PendingRequest["asked"], "scopes" | "audience" | "foreign">

/** The projects and APIs that the application can access, with the scopes of the APIs. */
function accessOf(cx: Cx, userId: string, { scopes, audience, foreign }: AccessRequest) {
  const projects = foreignProjectsOf(cx, userId, foreign)
  const isOpen = ({ clientId }: ApiApp) => canUseClient(cx, userId, clientId)
  const defined = scopesFor(cx, audience)
  const requested = scopes
    .flatMap((scope) => defined.get(scope) ?? [])
    .filter(({ api }) => isOpen(api))
  const byApi = Map.groupBy(requested, ({ api }) => api.clientId)
  const ours = requireInstance(cx).projectId
  const isNamed = ({ clientId, projectId }: ApiApp) =>
    byApi.has(clientId) || projectId === ours || projects.some(({ id }) => id === projectId)
  // Explicitly requested resources are listed, even without a scope.
  const others = apisInAudience(cx, audience).filter((api) => isOpen(api) && !isNamed(api))
  return {
    projects: [...projects, ...others.map((api) => toNamedApi(cx, api))],
    apis: [...byApi.values()].flatMap((own) => {
      const [first] = own
      return first === undefined
        ? []
        : [{ ...toNamedApi(cx, first.api), scopes: own.map(toShownScope) }]
    }),
  }
}

const toNamedApi = (cx: Cx, { clientId: id, name, projectId }: ApiApp) => ({
  id,
  name,
  organization: organizationOf(cx, projectId),
})

const toShownScope = ({ scope, name = "", description = "" }: ApiScope) => ({
  scope,
  name,
  description,
})

const organizationOf = (cx: Cx, projectId: string): string =>
  cx.store.state(cx, org, cx.store.state(cx, project, projectId).orgId).name

/** The user cancels the sign-in: the application receives an error. */
async function postCancel(loginContext: LoginContext): Promise<Response> {
  const { cx, waiting } = loginContext
  if (!waiting) return redirectTo(loginPaths.signedIn)
  await cx.store.transact(cx, (tx) => denyConsent(tx, waiting.id))
  return redirectTo(destinationAfterSignIn(loginContext))
}

/**
 * POST: the user's decision. It applies only to the account and the application as they were shown.
 */
async function postConsent(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, waiting } = loginContext
  if (!waiting) return redirectTo(loginPaths.signedIn)
  const step = stepOf(loginContext)
  const answer = fields.get("answer")
  if (answer === "cancel" && (step.kind === "consent" || step.kind === "barred")) {
    await cx.store.transact(cx, (tx) => denyConsent(tx, waiting.id))
  } else if (answer === "allow" && step.kind === "consent") {
    const isAllowed =
      fields.get("session") === step.sessionId &&
      (await allowRequest(cx, waiting.id, step.sessionId, fields.get("identity")))
    if (!isAllowed) return redirectTo(hrefOf(loginContext, loginPaths.consent))
  }
  return redirectTo(destinationAfterSignIn(loginContext))
}

export const consentScreen: Screen = {
  path: loginPaths.consent,
  get: showConsent,
  post: postConsent,
}

/** All pages of a sign-in post to it. */
export const cancelScreen: Screen = {
  path: loginPaths.cancel,
  get: (loginContext) => redirectTo(hrefOf(loginContext, loginPaths.loginName)),
  post: postCancel,
}
