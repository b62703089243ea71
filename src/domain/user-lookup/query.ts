import { Fault } from "../../kernel/fault.ts"
import { canonicalName } from "../../kernel/text/name.ts"
import { type Cx, cacheQuery, type DecisionContext, statement } from "../../store/index.ts"
import { unknownAccountPrefix } from "../lockout/index.ts"
import { orgExists, orgStops } from "../org/index.ts"
import { avatarUrl } from "../user/index.ts"
import {
  createReader,
  factorsOf,
  type Gender,
  type Human,
  hasPasskey,
  isAbsent,
  linksOf,
  user,
} from "../user-model/index.ts"
import { findByLoginName } from "./find-name.ts"
import { verifiedFor } from "./verified.ts"
import { type UserRow, userTable } from "./view.ts"

const selectUser = userTable.select("*", "AND id = $id")
const selectHome = statement<{ org: string }>(
  "SELECT org FROM users WHERE instance = $instance AND id = $id",
)
/** The row of a user. Throws if the user doesn't exist. */
export function requireUserRow(cx: Cx, id: string): UserRow {
  const row = cx.store.get(cx, selectUser, { id })
  if (row) return row
  throw new Fault("not_found", "user.missing", "user not found")
}

/**
 * The account that attempts with a login name are counted for: the user ID, or a stand-in for an
 * unknown name, which behaves the same to prevent user enumeration.
 */
export const accountOf = (cx: Cx, loginName: string): string =>
  findByLoginName(cx, loginName) ??
  `${unknownAccountPrefix}${cx.secrets.hash(canonicalName(loginName), "login_name")}`

/** Claims of a user for the UserInfo endpoint and ID tokens; unknown ones are empty. */
export type UserInfo = {
  readonly kind: "human" | "machine"
  readonly userName: string
  readonly name: string
  readonly givenName: string
  readonly familyName: string
  readonly nickName: string
  readonly gender: Gender
  readonly preferredLanguage: string
  readonly email: string
  readonly emailVerified: boolean
  readonly phone: string
  readonly phoneVerified: boolean
  /** URL of the avatar. */
  readonly picture: string
  /** ms UTC. */
  readonly changed: number
}

/**
 * Claims of a user for applications of the given organizations: an address is verified only if each
 * of them accepts it. Undefined if the user doesn't exist.
 */
export function findProfileFor(
  cx: Cx,
  id: string,
  orgIds: readonly string[],
): UserInfo | undefined {
  const cache = findProfile(cx, id)
  if (!cache?.emailVerified && !cache?.phoneVerified) return cache
  const verified = orgIds.map((orgId) => verifiedFor(cx, { id, orgId }))
  return {
    ...cache,
    emailVerified: verified.every(({ email }) => email),
    phoneVerified: verified.every(({ phone }) => phone),
  }
}

/**
 * Claims of a user, with addresses that anyone has verified. For use within the instance;
 * applications get `findProfileFor`.
 */
export function findProfile(cx: Cx, id: string): UserInfo | undefined {
  const state = cx.store.state(cx, user, id)
  if (isAbsent(state)) return undefined
  const { kind, userName, changed } = state
  if (kind === "machine") return { ...emptyProfile, kind, userName, changed, name: state.name }
  const { displayName, ...names } = state.profile
  return {
    ...names,
    kind,
    userName,
    changed,
    name: displayName,
    email: state.email.address,
    emailVerified: state.email.verified,
    phone: state.phone?.number ?? "",
    phoneVerified: state.phone?.verified ?? false,
    picture: avatarUrl(cx, id),
  }
}

const emptyProfile = {
  givenName: "",
  familyName: "",
  nickName: "",
  gender: "unspecified",
  preferredLanguage: "",
  email: "",
  emailVerified: false,
  phone: "",
  phoneVerified: false,
  picture: "",
} as const

/** The user name; undefined if the user doesn't exist. */
export function findUserName(cx: Cx, id: string): string | undefined {
  const state = cx.store.state(cx, user, id)
  return isAbsent(state) ? undefined : state.userName
}

/** Whether a user can act at all; checked at each use of a session or token. */
export const isUserActive = (cx: Cx, id: string): boolean =>
  cx.store.state(cx, user, id).status === "active"

/**
 * The credential version of a user. It increases with each new password, each removed factor, and
 * when the user or the organization is deactivated or locked. Sessions and tokens with an older
 * version are invalid, also after reactivation, except the session in which a factor was removed.
 * Undefined for a user who can't sign in.
 */
export function signInVersion(
  read: Pick<DecisionContext, "state" | "owner">,
  id: string,
  sessionId?: string,
): number | undefined {
  const state = read.state(user, id)
  if (isAbsent(state)) return undefined
  const version = state.kind === "human" ? credentialVersionOf(state, sessionId) : 0
  if (version === undefined) return undefined
  return Math.max(version, state.stoppedIn ?? 0) + orgStops(read, read.owner(user, id))
}

/**
 * Whether the credential version of a session is still valid. A session in which a factor was
 * removed can have a version between the one before the removal and the current one.
 */
export function isSignInCurrent(
  read: Pick<DecisionContext, "state" | "owner">,
  id: string,
  { sessionId, passwordVersion }: { readonly sessionId: string; readonly passwordVersion: number },
): boolean {
  const newest = signInVersion(read, id)
  const sessionVersion = signInVersion(read, id, sessionId)
  if (newest === undefined || sessionVersion === undefined) return false
  return sessionVersion <= passwordVersion && passwordVersion <= newest
}

function credentialVersionOf(person: Human, sessionId?: string): number | undefined {
  // A user with an email address can be sent a sign-in link.
  const hasWay = hasPasskey(person) || linksOf(person).length > 0 || person.email.address !== ""
  const first = person.password?.version ?? (hasWay ? 0 : undefined)
  if (first === undefined) return undefined
  const { removedIn, kept: sessionVersion } = factorsOf(person)
  const isKept = sessionId !== undefined && sessionVersion?.sessionId === sessionId
  return Math.max(first, isKept ? sessionVersion.removedIn : removedIn)
}

/** The credential version outside of a transaction; 0 if there is none. */
export function passwordVersion(cx: Cx, id: string): number {
  const cache = cachedVersions(cx)
  const version = cache.get(id) ?? signInVersion(createReader(cx), id) ?? 0
  if (cache.size < cachedVersionsMax) cache.set(id, version)
  return version
}

/** Cached until the next write, because every token check needs it. */
const cachedVersions = cacheQuery(() => new Map<string, number>())
const cachedVersionsMax = 10_000

/** The owner chain of a user for access rules. */
export type UserChain = { readonly instance: true; readonly org: string; readonly user: string }

/** The owner chain of a user; undefined if the user or the organization doesn't exist. */
export function findUserChain(cx: Cx, id: string): UserChain | undefined {
  const row = cx.store.get(cx, selectHome, { id })
  return row && orgExists(cx, row.org) ? { instance: true, org: row.org, user: id } : undefined
}

const selectByOrg = statement<{ id: string }>(
  "SELECT id FROM users WHERE instance = $instance AND org = $orgId ORDER BY id LIMIT $limit",
)
const selectOthersOnDomain = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND name_domain = $domain AND name_domain <> '' AND org <> $orgId
   ORDER BY id LIMIT $limit`,
)

/** A batch of user IDs of an organization. */
export const listUserIds = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, selectByOrg, { orgId, limit }).map(({ id }) => id)

/** A batch of users of other organizations whose names end in a domain. */
export const listOthersOnDomain = (
  cx: Cx,
  { domain, orgId, limit }: { readonly domain: string; orgId: string; readonly limit: number },
): readonly string[] =>
  cx.store.all(cx, selectOthersOnDomain, { domain, orgId, limit }).map(({ id }) => id)
