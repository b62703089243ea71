import { type ApiApp, type ApiScope, apisNamed, scopesFor } from "../../../domain/app/index.ts"
import { canUseClient } from "../../../domain/app-access/index.ts"
import { mayEnter } from "../../../domain/authorization/index.ts"
import {
  allowRequest,
  denyConsent,
  identityShown,
  rememberedSeconds,
} from "../../../domain/grant/index.ts"
import { requireInstance } from "../../../domain/instance/index.ts"
import { org } from "../../../domain/org/index.ts"
import { project } from "../../../domain/project/index.ts"
import { readerOf } from "../../../domain/user-model/index.ts"
import type { Cx } from "../../../store/index.ts"
import {
  accountOf,
  afterwards,
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import type { Waiting } from "../../request.ts"

/** GET: asks the person, or tells them why they can't go on; only where one of both is next. */
function askConsent(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, show, browserContext, waiting } = loginContext
  const application = applicationOf(loginContext)
  if (!waiting || !application) return goTo(loginPaths.signedIn)
  const step = stepOf(loginContext)
  if (step.kind !== "consent" && step.kind !== "barred") return goTo(afterwards(loginContext))
  const userId = browserContext.present.find(({ id }) => id === step.sessionId)?.userId ?? ""
  const several = browserContext.present.length > 1
  const common = {
    form: targetOf(loginContext, loginPaths.consent),
    account: accountOf(cx, userId),
    changeHref: hrefOf(loginContext, several ? loginPaths.accounts : loginPaths.loginName),
  }
  if (step.kind === "barred") {
    const { bar } = step
    return show(
      cx,
      (ui, shared) => ui.BarredPage({ ...shared, ...common, application: application.name, bar }),
      optionsOf(loginContext, 403, userId),
    )
  }
  const { device } = waiting.asked
  const asked = {
    session: step.sessionId,
    application,
    userCode: device?.userCode,
    ...reachedBy(cx, userId, waiting.asked),
    rememberedUntil: rememberedUntil(cx, waiting.asked),
    identity: identityShown(readerOf(cx), waiting.asked.appId),
  }
  return show(
    cx,
    (ui, shared) => ui.ConsentPage({ ...shared, ...common, ...asked }),
    optionsOf(loginContext, 200, userId),
  )
}

/** Until when the answer of now is remembered, ms UTC; undefined where it is not. */
function rememberedUntil(cx: Cx, asked: Waiting["asked"]): number | undefined {
  const seconds = rememberedSeconds(cx, asked)
  return seconds === 0 ? undefined : cx.clock.now() + seconds * 1000
}

/**
 * The projects of others that the application will reach, and whose they are. Of one that does not
 * let the person in they learn nothing, and get nothing for it; our own has words of its own.
 */
function projectsNamed(cx: Cx, userId: string, foreign: Waiting["asked"]["foreign"] = []) {
  const own = requireInstance(cx).projectId
  return foreign
    .filter((id) => id !== own && mayEnter(cx, userId, id) === "yes")
    .map((id) => {
      const { name } = cx.store.state(cx, project, id)
      return { id, name, organization: organizationOf(cx, id) }
    })
}

type Reaching = Pick<Waiting["asked"], "scopes" | "audience" | "foreign">

/** The projects and APIs that an application will reach, and the scopes of the APIs. */
function reachedBy(cx: Cx, userId: string, { scopes, audience, foreign }: Reaching) {
  const projects = projectsNamed(cx, userId, foreign)
  const isOpen = ({ clientId }: ApiApp) => canUseClient(cx, userId, clientId)
  const defined = scopesFor(cx, audience)
  const requested = scopes
    .flatMap((scope) => defined.get(scope) ?? [])
    .filter(({ api }) => isOpen(api))
  const byApi = Map.groupBy(requested, ({ api }) => api.clientId)
  const ours = requireInstance(cx).projectId
  const isNamed = ({ clientId, projectId }: ApiApp) =>
    byApi.has(clientId) || projectId === ours || projects.some(({ id }) => id === projectId)
  // What resource names is named here, also without a scope.
  const others = apisNamed(cx, audience).filter((api) => isOpen(api) && !isNamed(api))
  return {
    projects: [...projects, ...others.map((api) => namedApi(cx, api))],
    apis: [...byApi.values()].flatMap((own) => {
      const [first] = own
      return first === undefined ? [] : [{ ...namedApi(cx, first.api), scopes: own.map(shown) }]
    }),
  }
}

const namedApi = (cx: Cx, { clientId: id, name, projectId }: ApiApp) => ({
  id,
  name,
  organization: organizationOf(cx, projectId),
})

const shown = ({ scope, name = "", description = "" }: ApiScope) => ({ scope, name, description })

const organizationOf = (cx: Cx, projectId: string): string =>
  cx.store.state(cx, org, cx.store.state(cx, project, projectId).orgId).name

/** The person does not want to sign in: the application is told that they refuse. */
async function takeCancel(loginContext: LoginContext): Promise<Response> {
  const { cx, waiting } = loginContext
  if (!waiting) return goTo(loginPaths.signedIn)
  await cx.store.transact(cx, (tx) => denyConsent(tx, waiting.id))
  return goTo(afterwards(loginContext))
}

/**
 * The person has decided. What they allow, they allow for the account that they were shown, and the
 * application as it was shown.
 */
async function takeConsent(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, waiting } = loginContext
  if (!waiting) return goTo(loginPaths.signedIn)
  const step = stepOf(loginContext)
  const answer = fields.get("answer")
  if (answer === "cancel" && (step.kind === "consent" || step.kind === "barred")) {
    await cx.store.transact(cx, (tx) => denyConsent(tx, waiting.id))
  } else if (answer === "allow" && step.kind === "consent") {
    const isAllowed =
      fields.get("session") === step.sessionId &&
      (await allowRequest(cx, waiting.id, step.sessionId, fields.get("identity")))
    if (!isAllowed) return goTo(hrefOf(loginContext, loginPaths.consent))
  }
  return goTo(afterwards(loginContext))
}

export const consentScreen: Screen = {
  path: loginPaths.consent,
  get: askConsent,
  post: takeConsent,
}

/** Each page of a sign-in posts to it. */
export const cancelScreen: Screen = {
  path: loginPaths.cancel,
  get: (loginContext) => goTo(hrefOf(loginContext, loginPaths.loginName)),
  post: takeCancel,
}
