import { Fault } from "../../kernel/fault.ts"
import { hostName } from "../../kernel/net/host.ts"
import { givenName } from "../../kernel/text/given.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import type { Cx, Decision, Draft, Filter, Receipt, Transaction } from "../../store/index.ts"
import {
  type Instance,
  type InstanceEvent,
  instance,
  memberOf,
  ownerRole,
  ownersOf,
} from "./model.ts"
import { releaseName, takeName } from "./name.ts"
import { newIdTokenLifetime } from "./setting.ts"

/** Begins the instance; a part of set-up, which is done once. */
export function addInstance(
  tx: Transaction,
  input: { readonly name: string; readonly publicUrl: string; readonly language?: string },
): void {
  if (tx.state(instance, tx.instance).status !== "absent") {
    throw new Fault("already_exists", "instance.exists", "set-up has been done already")
  }
  const name = givenName("name", input.name)
  const drafts: Draft<InstanceEvent>[] = [
    { type: "instance.added", data: { name, idTokenLifetime: newIdTokenLifetime } },
    publicUrlSet(originOf(input.publicUrl)),
  ]
  if (input.language) {
    const data = { language: languageOf(input.language) }
    drafts.push({ type: "instance.default.language.set", data })
  }
  tx.append(instance, tx.instance, drafts)
}

function languageOf(language: string): string {
  if (pageLanguages.includes(language)) return language
  const message = `default_language may be one of these: ${pageLanguages.join(", ")}`
  throw new Fault("invalid_argument", "instance.language_unknown", message)
}

/** Names what the instance itself uses; a part of set-up. */
export function setOwnResources(
  tx: Transaction,
  input: {
    readonly orgId: string
    readonly projectId: string
    readonly console: { readonly appId: string; readonly clientId: string }
  },
): void {
  const { orgId, projectId, console } = input
  const drafts: Draft<InstanceEvent>[] = [
    { type: "instance.default.org.set", data: { orgId } },
    { type: "instance.iam.project.set", data: { projectId } },
    { type: "instance.iam.console.set", data: console },
  ]
  tx.append(instance, tx.instance, drafts)
}

/**
 * Sets the address that people use. Issuer and links change with it; the name that it had is not
 * answered to any more, unless it is one of the instance's other domains.
 */
export const setPublicUrl = instance.command<string>((state, text) => {
  mustExist(state)
  const url = originOf(text)
  return url === state.publicUrl ? [] : [publicUrlSet(url, state)]
})

function publicUrlSet(url: string, before?: Instance): Draft<InstanceEvent> {
  const left = before && new URL(before.publicUrl).hostname
  const isLeft = left !== undefined && !Object.hasOwn(before?.domains ?? {}, left)
  return {
    type: "instance.public.url.set",
    data: { url },
    claims: [...(isLeft ? [releaseName(left)] : []), takeName(new URL(url).hostname)],
  }
}

/** Sets what people read who read none of the other languages. */
export const setDefaultLanguage = instance.command<string>((state, language) => {
  mustExist(state)
  if (language === state.defaultLanguage) return []
  return [{ type: "instance.default.language.set", data: { language } }]
})

/** Names the organisation of whoever comes without one; the caller knows that there is one. */
export const setDefaultOrg = instance.command<string>((state, orgId) => {
  mustExist(state)
  return orgId === state.defaultOrgId ? [] : [{ type: "instance.default.org.set", data: { orgId } }]
})

export const renameInstance = instance.command<string>((state, text) => {
  mustExist(state)
  const name = givenName("name", text)
  return name === state.name ? [] : [{ type: "instance.changed", data: { name } }]
})

/**
 * How well a user can sign in: not at all, for a time only (a service user whose keys and tokens
 * all expire, a person who is invited), or lastingly. Only the module of the users knows.
 */
export const standings = { none: 0, expiring: 1, lasting: 2 } as const
export type Standing = number
export type StandingOf = (userId: string) => Standing

/** How well the instance is owned: as well as the best of its owners can sign in. */
export const bestStanding = (
  cx: Pick<Decision, "state" | "instance">,
  standingOf: StandingOf,
): Standing =>
  Math.max(
    standings.none,
    ...ownersOf(cx.state(instance, cx.instance)).map(({ userId }) => standingOf(userId)),
  )

/** Refuses to leave the instance without an owner, or with none that lasts where one did. */
export function mustStayOwned({ before, after }: { before: Standing; after: Standing }): void {
  if (isOwnerless({ before, after })) throw lastOwnerError()
}

const isOwnerless = ({ before, after }: { before: Standing; after: Standing }): boolean =>
  after < Math.max(before, standings.expiring)

type Going = { readonly standingOf: StandingOf; readonly left?: Standing }

/** Refuses the same of what makes of one user somebody who can sign in as well as `left`. */
export function keepOwner(
  cx: Pick<Decision, "state" | "instance">,
  userId: string,
  going: Going,
): void {
  if (isLastOwner(cx, userId, going)) throw lastOwnerError()
}

/** Whether that would leave the instance without an owner, or with none that lasts. */
export function isLastOwner(
  cx: Pick<Decision, "state" | "instance">,
  userId: string,
  { standingOf, left = standings.none }: Going,
): boolean {
  if (!ownersOf(cx.state(instance, cx.instance)).some((owner) => owner.userId === userId)) {
    return false
  }
  return isOwnerless({
    before: bestStanding(cx, standingOf),
    after: bestStanding(cx, (id) => (id === userId ? left : standingOf(id))),
  })
}

const lastOwnerError = (): Fault =>
  new Fault(
    "failed_precondition",
    "instance.last_owner",
    "nobody could administer the instance any more, or only until a key, token or invitation " +
      "expires; make somebody else an owner first, who can sign in",
  )

type MemberInput = {
  readonly userId: string
  readonly roles: readonly string[]
  /** The organisation that the user belongs to. */
  readonly orgId: string
  readonly standingOf: StandingOf
}

/** Makes a user an administrator of the instance. */
export const addInstanceMember = instance.command<Omit<MemberInput, "standingOf">>(
  (state, { userId, orgId, roles }) => {
    mustExist(state)
    if (memberOf(state, userId)) {
      throw new Fault(
        "already_exists",
        "member.exists",
        "the user is an administrator here already; change their roles instead",
      )
    }
    return [{ type: "instance.member.added", data: { userId, orgId, roles } }]
  },
)

/** Replaces the roles of an administrator. Refuses to take ownership from the last owner. */
export const changeInstanceMember = instance.command<Omit<MemberInput, "orgId">>(
  (state, { userId, roles, standingOf }, cx) => {
    const member = memberOf(state, userId)
    if (!member) throw missingMemberError()
    if (sameRoles(member.roles, roles)) return []
    if (!roles.includes(ownerRole)) keepOwner(cx, userId, { standingOf })
    return [{ type: "instance.member.changed", data: { userId, roles } }]
  },
)

/** Takes all roles on the instance; nothing happens where the user has none. */
export const removeInstanceMember = instance.command<Pick<MemberInput, "userId" | "standingOf">>(
  (state, { userId, standingOf }, cx) => {
    if (!memberOf(state, userId)) return []
    keepOwner(cx, userId, { standingOf })
    return [{ type: "instance.member.removed", data: { userId } }]
  },
)

/** Whether what has a project in a column is of the instance's own project, or is not. */
export function internalFilter(cx: Cx, column: string, isInternal: boolean): Filter {
  const own: Filter = { equals: column, value: requireInstance(cx).projectId }
  return isInternal ? own : { not: own }
}

/** The instance as it stands; faults before set-up. */
export function requireInstance(cx: Pick<Cx, "store" | "instance">): Instance {
  const state = cx.store.state(cx, instance, cx.instance)
  mustExist(state)
  return state
}

/** The instance with where its stream stands; faults before set-up. */
export function findInstance(cx: Pick<Cx, "store" | "instance">): Instance & Receipt {
  const receipt = cx.store.receipt(cx, instance, cx.instance)
  if (!receipt) throw notSetUpError()
  return { ...requireInstance(cx), ...receipt, owner: cx.instance }
}

/** Faults before set-up, and for who is removed. */
export function mustExist(state: Instance): void {
  if (state.status !== "active") throw notSetUpError()
}

const notSetUpError = () =>
  new Fault(
    "failed_precondition",
    "instance.not_set_up",
    "nothing is set up yet; open the set-up link that the server printed",
  )

const missingMemberError = () =>
  new Fault("not_found", "member.missing", "the user is not an administrator here")

const sameRoles = (left: readonly string[], right: readonly string[]) =>
  left.length === right.length && left.every((role) => right.includes(role))

/** An origin and nothing else: the issuer is compared character by character. */
export function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  const bare = url && !url.username && !url.password && url.pathname === "/"
  if (!isWeb || !bare || url.search || url.hash) {
    throw new Fault(
      "invalid_argument",
      "instance.public_url_invalid",
      "the public address must look like https://id.example.com, without a path: Latchkey needs " +
        "a host name of its own",
    )
  }
  url.hostname = hostName(url.hostname)
  return url.origin
}
