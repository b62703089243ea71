import { apiAt, appChain, findClient, isSelfRegistered } from "../../domain/app/index.ts"
import { appDenial } from "../../domain/app-access/index.ts"
import { mayEnter } from "../../domain/authorization/index.ts"
import { exchange, grant } from "../../domain/grant/index.ts"
import { isProjectActive, project } from "../../domain/project/index.ts"
import { hasProject } from "../../domain/project-grant/index.ts"
import { type Cx, cached } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { isPlain, scopesWithin, withoutOurs } from "./scope.ts"
import type { Statement } from "./statement.ts"
import { orgOf, provenUntil } from "./token-parent.ts"

type Asking = { readonly appId: string; readonly projectId: string }

/**
 * Whether an application may have tokens for a project only where the person allows it by name: its
 * organisation neither owns the project nor has it by a grant that counts. Our own project is
 * foreign to all but the console, also to what else is in it: a token for that is worth all that
 * its person may do.
 */
function isForeign(cx: Cx, { appId, projectId }: Asking, id: string): boolean {
  const issuer = issuerOf(cx)
  if (id === issuer.projectId) return appId !== issuer.consoleAppId
  if (id === projectId) return false
  // Of one that registered itself, nobody in that organisation knows anything.
  if (isSelfRegistered(cx, appId)) return true
  return !hasProject(cx, id, cx.store.state(cx, project, projectId).orgId)
}

/** The projects that a person must allow by name, of those that an application asks for. */
export function foreignAmong(
  cx: Cx,
  app: Asking,
  projects: readonly string[],
): { readonly foreign?: readonly string[] } {
  const named = projects.map((id) => projectOf(cx, id))
  const foreign = [...new Set(named)].filter((id) => isForeign(cx, app, id))
  return foreign.length > 0 ? { foreign } : {}
}

/**
 * What a person has allowed who was asked about projects: of one that didn't let them in the page
 * said nothing, so it isn't allowed when it lets them in later.
 */
export const consentedAmong = (
  cx: Cx,
  userId: string,
  foreign: readonly string[] | undefined,
): readonly string[] | undefined => foreign?.filter((id) => isEnterable(cx, userId, id))

type Token = Pick<Statement, "grantId" | "userId" | "clientId" | "audience" | "scopes">

/** Answers the part of an audience that a request wants; see `narrowing`. */
export type Narrow = (
  allowed: Pick<Statement, "audience" | "clientId" | "userId">,
) => readonly string[]

/**
 * A token, or what will be one, as far as it counts now: for projects that its client may have and
 * its user may enter, with the scopes that go with them. Asked when it is issued, and at every use.
 */
export function asOfNow<T extends Token>(cx: Cx, token: T, narrow?: Narrow): T {
  const all = openAudience(cx, token)
  const client = findClient(cx, token.clientId)?.state
  const open = isPlain(token.scopes, client) ? withoutOurs(cx, all) : all
  const audience = narrow ? narrow({ ...token, audience: open }) : open
  return { ...token, audience, scopes: scopesWithin(cx, token.scopes, audience) }
}

/** The part of an audience that counts now; see `asOfNow`. A request asks more than once. */
export function openAudience(cx: Cx, token: Omit<Token, "scopes">): readonly string[] {
  const { userId, clientId, grantId, audience } = token
  const known = answers(cx)
  const key = `${userId}\n${clientId}\n${grantId}\n${audience.join("\n")}`
  const found = known.get(key) ?? openNow(cx, token)
  if (known.size < answersMax) known.set(key, found)
  return found
}

const answers = cached(() => new Map<string, readonly string[]>())
const answersMax = 10_000

function openNow(cx: Cx, token: Omit<Token, "scopes">): readonly string[] {
  const { audience, clientId } = token
  const client = findClient(cx, clientId)?.state
  // Whether the client's own project lets the user in is asked with what the token hangs from.
  const home = client?.projectId === issuerOf(cx).projectId ? undefined : client?.projectId
  const isOwn = (id: string) => client && (id === clientId || id === home)
  const isOpen = (id: string) =>
    isOwn(id) ||
    (isEnterable(cx, token.userId, id) && mayHave(cx, token, id) && isProvenFor(cx, token, id))
  return audience.every(isOpen) ? audience : audience.filter(isOpen)
}

/** The application that a part of an audience names; undefined for a project. */
const appOf = (cx: Cx, id: string): string | undefined =>
  findClient(cx, apiAt(cx, id)?.clientId ?? id)?.appId

/** The project that a part of an audience stands for: itself, or that of an application. */
export const projectOf = (cx: Cx, id: string): string =>
  findClient(cx, id)?.state.projectId ?? apiAt(cx, id)?.projectId ?? id

/**
 * Whether a part of an audience is there, and lets a user in: an application by its own rule, too.
 */
export function isEnterable(cx: Cx, userId: string, id: string): boolean {
  if (id === issuerOf(cx).issuer) return true
  const projectId = projectOf(cx, id)
  if (!isProjectActive(cx, projectId)) return false
  const appId = appOf(cx, id)
  return appId === undefined
    ? mayEnter(cx, userId, projectId) === "yes"
    : appDenial(cx, userId, appId) === undefined
}

type Hanging = Pick<Statement, "grantId" | "userId">

/** Whether the sign-in that a token hangs from is as a part of its audience requires. */
function isProvenFor(cx: Cx, { grantId: anchor, userId }: Hanging, id: string): boolean {
  const appId = appOf(cx, id)
  return appId === undefined || cx.clock.now() < provenUntil(cx, appId, { userId, anchor })
}

/** Whether who got a token may have it for a part of an audience, by what it hangs from. */
function mayHave(cx: Cx, { grantId, userId }: Hanging, id: string): boolean {
  if (id === issuerOf(cx).issuer) return true
  const projectId = projectOf(cx, id)
  const [kind = "", ...rest] = grantId.split("/")
  if (rest.length === 0) return grantHas(cx, grantId, projectId)
  const within = rest.join("/")
  if (kind === "offline") return grantHas(cx, within, projectId)
  if (kind === "session") return appHas(cx, rest.slice(1).join("/"), projectId)
  if (kind === "exchange") return exchangeHas(cx, within, { userId, projectId })
  // A service user acts for itself; there is nobody to ask.
  return projectId === issuerOf(cx).projectId || hasProject(cx, projectId, orgOf(cx, userId))
}

/** Whether an application may have a token for a part of an audience without asking anybody. */
export const mayHaveUnasked = (cx: Cx, appId: string, id: string): boolean =>
  appHas(cx, appId, projectOf(cx, id))

const appHas = (cx: Cx, appId: string, projectId: string): boolean =>
  !isForeign(cx, { appId, projectId: appChain(cx, appId)?.parent ?? "" }, projectId)

function grantHas(cx: Cx, grantId: string, projectId: string): boolean {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status === "absent") return false
  return given.consented?.includes(projectId) || appHas(cx, given.appId, projectId)
}

type Exchanged = { readonly userId: string; readonly projectId: string }

/** Nothing grows by an exchange: what the token that was shown was for, the new one may be for. */
function exchangeHas(cx: Cx, id: string, { userId, projectId }: Exchanged): boolean {
  const given = cx.store.state(cx, exchange, id)
  if (given.status === "absent") return false
  if (appHas(cx, given.appId, projectId)) return true
  return given.anchor !== undefined && mayHave(cx, { grantId: given.anchor, userId }, projectId)
}
