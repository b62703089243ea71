import { Fault } from "../../kernel/fault.ts"
import { canonical } from "../../kernel/text/name.ts"
import { type Cx, cached, type Decision, statement } from "../../store/index.ts"
import { nobody } from "../lockout/index.ts"
import { isOrgThere, orgStops } from "../org/index.ts"
import { avatarAddress } from "../user/index.ts"
import {
  factorsOf,
  type Gender,
  type Human,
  hasLeft,
  hasPasskey,
  linksOf,
  readerOf,
  user,
} from "../user-model/index.ts"
import { findByLoginName } from "./find-name.ts"
import { verifiedFor } from "./verified.ts"
import { type UserRow, userTable } from "./view.ts"

const one = userTable.select("*", "AND id = $id")
const home = statement<{ org: string }>(
  "SELECT org FROM users WHERE instance = $instance AND id = $id",
)
/** One user. Refuses an id that is nobody's (any more). */
export function findUser(cx: Cx, id: string): UserRow {
  const row = cx.store.get(cx, one, { id })
  if (row) return row
  throw new Fault("not_found", "user.missing", "there is no such user")
}

/**
 * The account that tries with a login name are counted on: the user's id, or for a name that is
 * nobody's a stand-in that behaves the same, so that nobody learns which names exist.
 */
export const accountOf = (cx: Cx, loginName: string): string =>
  findByLoginName(cx, loginName) ??
  `${nobody}${cx.secrets.hash(canonical(loginName), "login_name")}`

/** What the userinfo endpoint and id_tokens may tell of a user; empty texts are not known. */
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
  /** The address of a picture of them. */
  readonly picture: string
  /** ms UTC. */
  readonly changed: number
}

/**
 * A user's standard claims in our words, as the applications of organizations may take them: an
 * address is verified where it is for each of them. Undefined for a user that is not there.
 */
export function profileFor(cx: Cx, id: string, orgIds: readonly string[]): UserInfo | undefined {
  const known = profile(cx, id)
  if (!known?.emailVerified && !known?.phoneVerified) return known
  const verified = orgIds.map((orgId) => verifiedFor(cx, { id, orgId }))
  return {
    ...known,
    emailVerified: verified.every(({ email }) => email),
    phoneVerified: verified.every(({ phone }) => phone),
  }
}

/**
 * The same with what is verified at all, by whomever. What leaves the instance says `profileFor`
 * whom.
 */
export function profile(cx: Cx, id: string): UserInfo | undefined {
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state)) return undefined
  const { kind, userName, changed } = state
  if (kind === "machine") return { ...unknown, kind, userName, changed, name: state.name }
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
    picture: avatarAddress(cx, id),
  }
}

const unknown = {
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

/** The name that a user signs in with; undefined for one that is not there any more. */
export function userNameOf(cx: Cx, id: string): string | undefined {
  const state = cx.store.state(cx, user, id)
  return hasLeft(state) ? undefined : state.userName
}

/** Whether a user may do anything at all now; whatever hangs from them asks at every use. */
export const isUserActive = (cx: Cx, id: string): boolean =>
  cx.store.state(cx, user, id).status === "active"

/**
 * What a user signs in under: it is raised with every new password, with every factor that is taken
 * away, and when they or their organisation are stopped. Whatever signed in while it was lower is
 * over, and stays so when they come back. A session is not affected by the factors that were
 * removed with it. Undefined for a person with no way to sign in.
 */
export function signInVersion(
  read: Pick<Decision, "state" | "owner">,
  id: string,
  sessionId?: string,
): number | undefined {
  const state = read.state(user, id)
  if (hasLeft(state)) return undefined
  const version = state.kind === "human" ? credentialVersion(state, sessionId) : 0
  if (version === undefined) return undefined
  return Math.max(version, state.stoppedIn ?? 0) + orgStops(read, read.owner(user, id))
}

/**
 * Whether what a user signed in under still applies to a session. Who removes a factor with it, and
 * proves themselves again in it, has a version between that before the removal and the newest one.
 */
export function isSignInCurrent(
  read: Pick<Decision, "state" | "owner">,
  id: string,
  { sessionId, passwordVersion }: { readonly sessionId: string; readonly passwordVersion: number },
): boolean {
  const newest = signInVersion(read, id)
  const kept = signInVersion(read, id, sessionId)
  if (newest === undefined || kept === undefined) return false
  return kept <= passwordVersion && passwordVersion <= newest
}

function credentialVersion(person: Human, sessionId?: string): number | undefined {
  // Who has an address may be mailed a link that signs in.
  const hasWay = hasPasskey(person) || linksOf(person).length > 0 || person.email.address !== ""
  const first = person.password?.version ?? (hasWay ? 0 : undefined)
  if (first === undefined) return undefined
  const { removedIn, kept } = factorsOf(person)
  const isKept = sessionId !== undefined && kept?.sessionId === sessionId
  return Math.max(first, isKept ? kept.removedIn : removedIn)
}

/** The same outside of a step, as things stand now; 0 where there is no password. */
export function passwordVersion(cx: Cx, id: string): number {
  const known = versions(cx)
  const version = known.get(id) ?? signInVersion(readerOf(cx), id) ?? 0
  if (known.size < versionsMax) known.set(id, version)
  return version
}

/** Asked with every token that hangs from a user; good until anything is written. */
const versions = cached(() => new Map<string, number>())
const versionsMax = 10_000

/** What an access rule may hang from a user. */
export type UserChain = { readonly instance: true; readonly org: string; readonly user: string }

/** The owner chain of a user, or undefined for one that is not there, or whose home is not. */
export function userChain(cx: Cx, id: string): UserChain | undefined {
  const row = cx.store.get(cx, home, { id })
  return row && isOrgThere(cx, row.org) ? { instance: true, org: row.org, user: id } : undefined
}

const inOrg = statement<{ id: string }>(
  "SELECT id FROM users WHERE instance = $instance AND org = $orgId ORDER BY id LIMIT $limit",
)
const strangers = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND name_domain = $domain AND name_domain <> '' AND org <> $orgId
   ORDER BY id LIMIT $limit`,
)

/** Some of the users of an organisation. */
export const usersOf = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, inOrg, { orgId, limit }).map(({ id }) => id)

/** Some of the users of other organisations whose names end in a domain. */
export const strangersOn = (
  cx: Cx,
  { domain, orgId, limit }: { readonly domain: string; orgId: string; readonly limit: number },
): readonly string[] => cx.store.all(cx, strangers, { domain, orgId, limit }).map(({ id }) => id)
