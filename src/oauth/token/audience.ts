import {
  appChain,
  findApiByResource,
  findClient,
  isSelfRegistered,
} from "../../domain/app/index.ts"
import { findAppDenial } from "../../domain/app-access/index.ts"
import { projectAccessOf } from "../../domain/authorization/index.ts"
import { exchange, grant } from "../../domain/grant/index.ts"
import { isProjectActive, project } from "../../domain/project/index.ts"
import { hasProject } from "../../domain/project-grant/index.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { isPlain, scopesWithin, withoutManagementApi } from "./scope.ts"
import type { Statement } from "./statement.ts"
import { orgOf, tokenProofExpiry } from "./token-parent.ts"

type RequestingApp = { readonly appId: string; readonly projectId: string }

/**
 * Whether an application requires explicit consent for a project: its organization neither owns the
 * project nor has an active grant of it. The console's project is foreign to all applications but
 * the console, because a token for it allows everything that the user can do.
 */
function isForeign(cx: Cx, { appId, projectId }: RequestingApp, id: string): boolean {
  const issuer = issuerOf(cx)
  if (id === issuer.projectId) return appId !== issuer.consoleAppId
  if (id === projectId) return false
  // The organization of an application that registered itself has not approved it.
  if (isSelfRegistered(cx, appId)) return true
  return !hasProject(cx, id, cx.store.state(cx, project, projectId).orgId)
}

/** The projects among those requested that the user must allow explicitly. */
export function foreignProjectsAmong(
  cx: Cx,
  app: RequestingApp,
  projects: readonly string[],
): { readonly foreign?: readonly string[] } {
  const projectIds = projects.map((id) => projectOf(cx, id))
  const foreign = [...new Set(projectIds)].filter((id) => isForeign(cx, app, id))
  return foreign.length > 0 ? { foreign } : {}
}

/**
 * The projects that a user consented to. Projects that the user could not sign in to were not on
 * the page, so they are not included, even if the user can sign in later.
 */
export const consentedAmong = (
  cx: Cx,
  userId: string,
  foreign: readonly string[] | undefined,
): readonly string[] | undefined => foreign?.filter((id) => canUserAccess(cx, userId, id))

type Token = Pick<Statement, "grantId" | "userId" | "clientId" | "audience" | "scopes">

/** Returns the requested part of an audience; see `narrowing`. */
export type Narrow = (
  allowed: Pick<Statement, "audience" | "clientId" | "userId">,
) => readonly string[]

/**
 * A token reduced to its current validity: for projects that its client can access and its user can
 * sign in to, with their scopes. Applied when a token is issued, and at every use.
 */
export function currentToken<T extends Token>(cx: Cx, token: T, narrow?: Narrow): T {
  const all = currentAudience(cx, token)
  const client = findClient(cx, token.clientId)?.state
  const open = isPlain(token.scopes, client) ? withoutManagementApi(cx, all) : all
  const audience = narrow ? narrow({ ...token, audience: open }) : open
  return { ...token, audience, scopes: scopesWithin(cx, token.scopes, audience) }
}

/**
 * The current audience of a token; see `currentToken`. Cached, because a request uses it several
 * times.
 */
export function currentAudience(cx: Cx, token: Omit<Token, "scopes">): readonly string[] {
  const { userId, clientId, grantId, audience } = token
  const cache = audienceCache(cx)
  const key = `${userId}\n${clientId}\n${grantId}\n${audience.join("\n")}`
  const found = cache.get(key) ?? computeAudience(cx, token)
  if (cache.size < audienceCacheMax) cache.set(key, found)
  return found
}

const audienceCache = cacheQuery(() => new Map<string, readonly string[]>())
const audienceCacheMax = 10_000

function computeAudience(cx: Cx, token: Omit<Token, "scopes">): readonly string[] {
  const { audience, clientId } = token
  const client = findClient(cx, clientId)?.state
  // Whether the user can sign in to the client's own project is checked with the token's parent.
  const home = client?.projectId === issuerOf(cx).projectId ? undefined : client?.projectId
  const isOwn = (id: string) => client && (id === clientId || id === home)
  const isOpen = (id: string) =>
    isOwn(id) ||
    (canUserAccess(cx, token.userId, id) &&
      canHolderAccess(cx, token, id) &&
      isProofValidFor(cx, token, id))
  return audience.every(isOpen) ? audience : audience.filter(isOpen)
}

/** The application that an audience value identifies; undefined for a project. */
const appIdOf = (cx: Cx, id: string): string | undefined =>
  findClient(cx, findApiByResource(cx, id)?.clientId ?? id)?.appId

/** The project of an audience value: itself, or that of an application. */
export const projectOf = (cx: Cx, id: string): string =>
  findClient(cx, id)?.state.projectId ?? findApiByResource(cx, id)?.projectId ?? id

/**
 * Whether the project or application of an audience value is active and the user can use it. An
 * application's own rule applies, too.
 */
export function canUserAccess(cx: Cx, userId: string, id: string): boolean {
  if (id === issuerOf(cx).issuer) return true
  const projectId = projectOf(cx, id)
  if (!isProjectActive(cx, projectId)) return false
  const appId = appIdOf(cx, id)
  return appId === undefined
    ? projectAccessOf(cx, userId, projectId) === "yes"
    : findAppDenial(cx, userId, appId) === undefined
}

type TokenParentReference = Pick<Statement, "grantId" | "userId">

/** Whether the sign-in that a token depends on satisfies the requirements of an audience value. */
function isProofValidFor(
  cx: Cx,
  { grantId: anchor, userId }: TokenParentReference,
  id: string,
): boolean {
  const appId = appIdOf(cx, id)
  return appId === undefined || cx.clock.now() < tokenProofExpiry(cx, appId, { userId, anchor })
}

/** Whether the holder of a token can access an audience value, depending on the token's parent. */
function canHolderAccess(cx: Cx, { grantId, userId }: TokenParentReference, id: string): boolean {
  if (id === issuerOf(cx).issuer) return true
  const projectId = projectOf(cx, id)
  const [kind = "", ...rest] = grantId.split("/")
  if (rest.length === 0) return canGrantAccess(cx, grantId, projectId)
  const within = rest.join("/")
  if (kind === "offline") return canGrantAccess(cx, within, projectId)
  if (kind === "session") return canAppAccess(cx, rest.slice(1).join("/"), projectId)
  if (kind === "exchange") return canExchangeAccess(cx, within, { userId, projectId })
  // A service account acts for itself, so no consent is needed.
  return projectId === issuerOf(cx).projectId || hasProject(cx, projectId, orgOf(cx, userId))
}

/** Whether an application can access an audience value without consent. */
export const canAccessWithoutConsent = (cx: Cx, appId: string, id: string): boolean =>
  canAppAccess(cx, appId, projectOf(cx, id))

const canAppAccess = (cx: Cx, appId: string, projectId: string): boolean =>
  !isForeign(cx, { appId, projectId: appChain(cx, appId)?.parent ?? "" }, projectId)

function canGrantAccess(cx: Cx, grantId: string, projectId: string): boolean {
  const parentState = cx.store.state(cx, grant, grantId)
  if (parentState.status === "absent") return false
  return (
    parentState.consented?.includes(projectId) || canAppAccess(cx, parentState.appId, projectId)
  )
}

type ExchangeTarget = { readonly userId: string; readonly projectId: string }

/** An exchange never extends access: the audience of the presented token is the limit. */
function canExchangeAccess(cx: Cx, id: string, { userId, projectId }: ExchangeTarget): boolean {
  const parentState = cx.store.state(cx, exchange, id)
  if (parentState.status === "absent") return false
  if (canAppAccess(cx, parentState.appId, projectId)) return true
  return (
    parentState.anchor !== undefined &&
    canHolderAccess(cx, { grantId: parentState.anchor, userId }, projectId)
  )
}
