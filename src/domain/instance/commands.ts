import { Fault } from "../../kernel/fault.ts"
import { hostName } from "../../kernel/net/host.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import type { Cx, DecisionContext, Draft, Filter, Receipt, Transaction } from "../../store/index.ts"
import {
  type Instance,
  type InstanceEvent,
  instance,
  memberOf,
  ownerRole,
  ownersOf,
} from "./model.ts"
import { claimName, releaseName } from "./name.ts"
import { newIdTokenLifetime } from "./setting.ts"

/** Creates the instance during the setup. */
export function addInstance(
  tx: Transaction,
  input: { readonly name: string; readonly publicUrl: string; readonly language?: string },
): void {
  if (tx.state(instance, tx.instance).status !== "absent") {
    throw new Fault("already_exists", "instance.exists", "the setup is already completed")
  }
  const name = parseDisplayName("name", input.name)
  const drafts: Draft<InstanceEvent>[] = [
    { type: "instance.added", data: { name, idTokenLifetime: newIdTokenLifetime } },
    publicUrlSet(parseOrigin(input.publicUrl)),
  ]
  if (input.language) {
    const data = { language: validateLanguage(input.language) }
    drafts.push({ type: "instance.default.language.set", data })
  }
  tx.append(instance, tx.instance, drafts)
}

function validateLanguage(language: string): string {
  if (pageLanguages.includes(language)) return language
  const message = `default_language must be one of: ${pageLanguages.join(", ")}`
  throw new Fault("invalid_argument", "instance.language_unknown", message)
}

/** Stores the IDs of the instance's own resources during the setup. */
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
 * Sets the public URL. The issuer and links change with it. The server no longer responds to the
 * previous name unless it is one of the other domains.
 */
export const setPublicUrl = instance.command<string>((state, text) => {
  requireExists(state)
  const url = parseOrigin(text)
  return url === state.publicUrl ? [] : [publicUrlSet(url, state)]
})

function publicUrlSet(url: string, before?: Instance): Draft<InstanceEvent> {
  const remaining = before && new URL(before.publicUrl).hostname
  const isLeft = remaining !== undefined && !Object.hasOwn(before?.domains ?? {}, remaining)
  return {
    type: "instance.public.url.set",
    data: { url },
    claims: [...(isLeft ? [releaseName(remaining)] : []), claimName(new URL(url).hostname)],
  }
}

/** Sets the language for users whose languages are not supported. */
export const setDefaultLanguage = instance.command<string>((state, language) => {
  requireExists(state)
  if (language === state.defaultLanguage) return []
  return [{ type: "instance.default.language.set", data: { language } }]
})

/** Sets the default organization; the caller checks that it exists. */
export const setDefaultOrg = instance.command<string>((state, orgId) => {
  requireExists(state)
  return orgId === state.defaultOrgId ? [] : [{ type: "instance.default.org.set", data: { orgId } }]
})

export const renameInstance = instance.command<string>((state, text) => {
  requireExists(state)
  const name = parseDisplayName("name", text)
  return name === state.name ? [] : [{ type: "instance.changed", data: { name } }]
})

/**
 * How long a user can sign in: not at all, only temporarily (a service account whose keys and
 * tokens all expire, an invited user), or permanently. Only the module of the users can determine
 * it.
 */
export const signInAbilities = { none: 0, expiring: 1, lasting: 2 } as const
export type SignInAbility = number
export type SignInAbilityOf = (userId: string) => SignInAbility

/** The access of the owner with the longest access. */
export const bestOwnerAbility = (
  cx: Pick<DecisionContext, "state" | "instance">,
  abilityOf: SignInAbilityOf,
): SignInAbility =>
  Math.max(
    signInAbilities.none,
    ...ownersOf(cx.state(instance, cx.instance)).map(({ userId }) => abilityOf(userId)),
  )

/**
 * Throws if the instance would be left without an owner, or without permanent access of an owner if
 * there was one.
 */
export function requireOwner({
  before,
  after,
}: {
  before: SignInAbility
  after: SignInAbility
}): void {
  if (isOwnerless({ before, after })) throw lastOwnerError()
}

const isOwnerless = ({ before, after }: { before: SignInAbility; after: SignInAbility }): boolean =>
  after < Math.max(before, signInAbilities.expiring)

type OwnerChange = { readonly abilityOf: SignInAbilityOf; readonly remaining?: SignInAbility }

/**
 * Throws if this change, which leaves the user with `left` access, would leave the instance without
 * an owner.
 */
export function requireRemainingOwner(
  cx: Pick<DecisionContext, "state" | "instance">,
  userId: string,
  change: OwnerChange,
): void {
  if (isLastOwner(cx, userId, change)) throw lastOwnerError()
}

/** Whether the instance would be left without an owner, or without one who has permanent access. */
export function isLastOwner(
  cx: Pick<DecisionContext, "state" | "instance">,
  userId: string,
  { abilityOf, remaining = signInAbilities.none }: OwnerChange,
): boolean {
  if (!ownersOf(cx.state(instance, cx.instance)).some((owner) => owner.userId === userId)) {
    return false
  }
  return isOwnerless({
    before: bestOwnerAbility(cx, abilityOf),
    after: bestOwnerAbility(cx, (id) => (id === userId ? remaining : abilityOf(id))),
  })
}

const lastOwnerError = (): Fault =>
  new Fault(
    "failed_precondition",
    "instance.last_owner",
    "this would leave the instance without an administrator, or with one whose key, token " +
      "or invitation expires; make another user an owner first",
  )

type MemberInput = {
  readonly userId: string
  readonly roles: readonly string[]
  /** The organization of the user. */
  readonly orgId: string
  readonly abilityOf: SignInAbilityOf
}

/** Makes a user an administrator of the instance. */
export const addInstanceMember = instance.command<Omit<MemberInput, "abilityOf">>(
  (state, { userId, orgId, roles }) => {
    requireExists(state)
    if (memberOf(state, userId)) {
      throw new Fault(
        "already_exists",
        "member.exists",
        "the user is already an administrator; change their roles instead",
      )
    }
    return [{ type: "instance.member.added", data: { userId, orgId, roles } }]
  },
)

/** Replaces the roles of an administrator. Throws if it would remove the last owner. */
export const changeInstanceMember = instance.command<Omit<MemberInput, "orgId">>(
  (state, { userId, roles, abilityOf }, cx) => {
    const member = memberOf(state, userId)
    if (!member) throw memberNotFoundError()
    if (sameRoles(member.roles, roles)) return []
    if (!roles.includes(ownerRole)) requireRemainingOwner(cx, userId, { abilityOf })
    return [{ type: "instance.member.changed", data: { userId, roles } }]
  },
)

/** Removes all roles on the instance; does nothing if the user has none. */
export const removeInstanceMember = instance.command<Pick<MemberInput, "userId" | "abilityOf">>(
  (state, { userId, abilityOf }, cx) => {
    if (!memberOf(state, userId)) return []
    requireRemainingOwner(cx, userId, { abilityOf })
    return [{ type: "instance.member.removed", data: { userId } }]
  },
)

/** A filter for rows whose project is, or is not, the instance's own. */
export function internalFilter(cx: Cx, column: string, isInternal: boolean): Filter {
  const own: Filter = { equals: column, value: requireInstance(cx).projectId }
  return isInternal ? own : { not: own }
}

/** The state of the instance; throws before the setup. */
export function requireInstance(cx: Pick<Cx, "store" | "instance">): Instance {
  const state = cx.store.state(cx, instance, cx.instance)
  requireExists(state)
  return state
}

/** The instance and its receipt; throws before the setup. */
export function findInstance(cx: Pick<Cx, "store" | "instance">): Instance & Receipt {
  const receipt = cx.store.receipt(cx, instance, cx.instance)
  if (!receipt) throw notSetUpError()
  return { ...requireInstance(cx), ...receipt, owner: cx.instance }
}

/** Throws before the setup and for a removed instance. */
export function requireExists(state: Instance): void {
  if (state.status !== "active") throw notSetUpError()
}

const notSetUpError = () =>
  new Fault(
    "failed_precondition",
    "instance.not_set_up",
    "no instance is set up yet; open the setup link that the server printed",
  )

const memberNotFoundError = () =>
  new Fault("not_found", "member.missing", "the user is not an administrator of the instance")

const sameRoles = (remaining: readonly string[], right: readonly string[]) =>
  remaining.length === right.length && remaining.every((role) => right.includes(role))

/** Parses an origin, because issuers are compared exactly. */
export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  const bare = url && !url.username && !url.password && url.pathname === "/"
  if (!isWeb || !bare || url.search || url.hash) {
    throw new Fault(
      "invalid_argument",
      "instance.public_url_invalid",
      "the public URL must have the form https://id.example.com without a path: Latchkey " +
        "requires its own host name",
    )
  }
  url.hostname = hostName(url.hostname)
  return url.origin
}
