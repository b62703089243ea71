import type { Message } from "@bufbuild/protobuf"
import type { Call, Scope } from "../kernel/context.ts"
import { Fault, fieldError } from "../kernel/fault.ts"
import type { Access, Rule, SystemRule } from "./access-rule.ts"
import { deniedError, missingIdError, notFoundError, tokenMissingError } from "./faults.ts"
import { requireRecentSignIn } from "./fresh.ts"
import { instanceTooHighError, type RankComparison, requireHigherRank } from "./rank.ts"

/** The owners of a resource, from the instance down. `user` is set if the resource is a user. */
export type OwnerChain = {
  readonly instance: true
  readonly org?: string
  readonly project?: string
  readonly grant?: string
  readonly user?: string
  /** The parent of the resource, such as the project of an application. */
  readonly parent?: string
  /**
   * Whether the resource belongs to the instance itself. Roles below the instance can't change it.
   */
  readonly internal?: boolean
  /** Whether a membership reaches the resource although its level does not own it. */
  readonly shared?: (membership: Pick<Membership, "level" | "id">) => boolean
}

/** A user's roles on the instance, an organization, a project or a project grant. */
export type Membership = {
  readonly level: "instance" | "org" | "project" | "grant"
  readonly id: string
  readonly roles: readonly string[]
  /** The group that has the roles; absent for the user's own. */
  readonly groupId?: string | undefined
}

/** Resolves owners, memberships and permissions for access decisions. The server provides it. */
export type Authority<C> = RankComparison<C> & {
  /**
   * The owner chain of each kind of resource, or undefined if the resource doesn't exist. `parent`
   * is the parent that the caller names, for kinds whose IDs are unique only within a parent.
   */
  readonly resources: Readonly<
    Record<string, (cx: C, id: string, parent: string | undefined) => OwnerChain | undefined>
  >
  /**
   * Whether a text is the key of a resource that was given to its creator, for kinds that have
   * keys.
   */
  readonly keys: Readonly<Record<string, (cx: C, id: string, key: string) => boolean>>
  readonly memberships: (cx: C, userId: string) => readonly Membership[]
  /** Whether a user exists and is neither deactivated nor locked by an administrator. */
  readonly isActive: (cx: C, userId: string) => boolean
  /** The permissions of a role on the instance of the call, which can define its own roles. */
  readonly permissions: (role: string, cx: C) => ReadonlySet<string>
}

/**
 * Authorizes a call or throws a fault. Returns the context with the organization and, for searches,
 * the scope. A resource that the caller can't access gives the same error as a missing one.
 */
export function authorize<C extends Call>(
  authority: Authority<C>,
  access: Access,
  cx: C,
  request: Message,
): C {
  if (access.kind === "public") return cx
  const { caller } = cx
  if (caller.kind === "anonymous") throw tokenMissingError()
  if (caller.kind === "system") return authorizeSystem(authority, access.system, cx, request)
  if (access.kind === "system") throw deniedError(access.system?.permission ?? "a system user")
  if (access.hasContext && !canUseContextOrg(authority, cx, caller)) throw notFoundError("org")
  const outranks = (userId: string, reach: "anywhere" | "home" = "anywhere") =>
    authority.outranks(cx, userId, reach)
  const outranksInstance = () => authority.outranksInstance(cx)
  const holdsOnInstance = (permission: string) =>
    hasInstancePermission(authority, cx, caller.userId, permission)
  const oneself: OwnerChain = { instance: true, org: caller.orgId, user: caller.userId }
  const holdsOnOneself = (permission: string) =>
    hasPermissionOn(holderOf(authority, cx, caller.userId), oneself, permission)
  const orgId = cx.orgId || caller.orgId
  const grantingMemberships = { holdsOnInstance, holdsOnOneself }
  const scopedCx = { ...cx, orgId, outranks, outranksInstance, ...grantingMemberships }
  if (access.kind === "authenticated") {
    if (access.fresh) requireRecentSignIn(scopedCx, access.rank, request)
    return scopedCx
  }

  const holder = holderOf(authority, scopedCx, caller.userId)
  if (access.kind === "search") {
    const scope = scopeOf(holder, access.rule)
    if (!canMatch(scope)) throw deniedError(access.rule.permission)
    return { ...scopedCx, scope }
  }
  if (access.kind === "searches") return { ...scopedCx, scope: scopesOf(holder, access.rules) }
  const { holds, fallback } = checkAccess(authority, scopedCx, { access, holder, request })
  return fallback ? { ...scopedCx, holds, fallback } : { ...scopedCx, holds }
}

/**
 * Whether the organization of the context is the caller's own, or owns something that the caller
 * administers.
 */
function canUseContextOrg<C extends Call>(
  { resources, memberships }: Authority<C>,
  cx: C,
  { userId, orgId: home }: Extract<Call["caller"], { readonly kind: "user" }>,
): boolean {
  const { orgId } = cx
  if (!orgId || orgId === home) return true
  const chain = resources.org?.(cx, orgId, undefined)
  if (!chain) return false
  return memberships(cx, userId).some((each) => {
    const { level, id } = each
    if (level === "project") return resources.project?.(cx, id, undefined)?.org === orgId
    if (level !== "grant") return covers(each, chain)
    const grant = resources.grant_id?.(cx, id, undefined)
    return resources.held_project?.(cx, orgId, grant?.project)?.grant === id
  })
}

/** Whether a user has a permission on the whole instance. */
export const hasInstancePermission = <C extends Call>(
  authority: Authority<C>,
  cx: C,
  userId: string,
  permission: string,
): boolean => hasPermissionOn(holderOf(authority, cx, userId), instanceChain, permission)

type CheckAccessInput = {
  readonly access: Access & { readonly kind: "resource" | "either" }
  readonly holder: RoleHolder
  readonly request: Message
}

/**
 * Checks the main rule and then the fallback rule. Returns the permissions on the resource and, if
 * only the fallback rule allowed access, the fault of the main rule. Throws if the call affects a
 * user of higher rank than the caller.
 */
export function checkAccess<C extends Call>(
  authority: Authority<C>,
  cx: C,
  { access, holder, request }: CheckAccessInput,
): Pick<Call, "holds" | "fallback"> {
  const rule = access.kind === "resource" ? access.rule : selectRule(access.rules, request)
  const { or, changes } = access
  const permissionsOn = (chain: OwnerChain) => (permission: string) =>
    hasPermissionOn(holder, chain, permission)
  const keyOwners = ownersByKey(authority, cx, rule, request)
  if (keyOwners) return { holds: permissionsOn(keyOwners) }
  const owners = evaluateRule(authority, cx, { rule, holder, request, changes })
  if (!(owners instanceof Fault)) {
    if (access.fresh && isSelf(cx, rule, owners)) requireRecentSignIn(cx, access.rank, request)
    if (access.rank) requireHigherRank(authority, cx, access.rank, { request, touched: owners })
    return { holds: permissionsOn(owners) }
  }
  const hasFallback = or !== undefined && namesResource(or.rule, request)
  const fallbackOwners = hasFallback
    ? evaluateRule(authority, cx, { rule: or.rule, holder, request, changes })
    : owners
  if (fallbackOwners instanceof Fault) throw owners
  if (or?.rank) requireHigherRank(authority, cx, or.rank, { request, touched: fallbackOwners })
  return { holds: permissionsOn(fallbackOwners), fallback: owners }
}

/**
 * Authorizes a system caller to run the method on the instance that the request names. The call
 * then runs on that instance. System callers have no roles other than those of the rule.
 */
function authorizeSystem<C extends Call>(
  authority: Authority<C>,
  rule: SystemRule | undefined,
  cx: C,
  request: Message,
): C {
  const roles = cx.caller.kind === "system" ? (cx.caller.roles ?? []) : []
  if (!rule) {
    throw new Fault(
      "permission_denied",
      "access.denied",
      "permission denied: system callers can't call this method",
    )
  }
  const hasPermission = roles.some((role) => authority.permissions(role, cx).has(rule.permission))
  if (!hasPermission) throw deniedError(rule.permission)
  if (!rule.id) return { ...cx, orgId: "" }
  const instance = requireId(rule.id, request) ?? ""
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const scopedCx = { ...cx, orgId: "", instance, scope, outranks: () => true }
  if (!authority.resources.instance?.(scopedCx, instance, undefined))
    throw notFoundError("instance")
  return scopedCx
}

/** The memberships of the caller. */
export type RoleHolder = {
  readonly userId: string
  readonly memberships: readonly Membership[]
  readonly holds: (membership: Membership, permission: string) => boolean
}

export function holderOf<C>(authority: Authority<C>, cx: C, userId: string): RoleHolder {
  return {
    userId,
    memberships: authority.memberships(cx, userId),
    holds: ({ roles }, permission) =>
      roles.some((role) => authority.permissions(role, cx).has(permission)),
  }
}

/** The owners of the resource if the request contains its key. */
function ownersByKey<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rule: Rule,
  request: Message,
): OwnerChain | undefined {
  const key = rule.key?.(request)
  const isKeyOf = authority.keys[rule.resource]
  if (typeof key !== "string" || key === "" || !isKeyOf) return undefined
  const chain = ownersOf(authority, cx, rule, request)
  return chain && isKeyOf(cx, resourceIdOf(cx, rule, request) ?? "", key) ? chain : undefined
}

/** Whether the resource is the caller's own user. */
const isSelf = ({ caller }: Call, { id }: Rule, { user }: OwnerChain): boolean =>
  id === "home" || (caller.kind === "user" && caller.userId === user)

export const namesResource = ({ id }: Rule, request: Message): boolean =>
  typeof id === "object" && Boolean(id.read(request))

/**
 * The rule whose resource the request names. If the request has none of the fields, the rule for
 * the caller's own organization. Rejects an empty field.
 */
export function selectRule(rules: readonly Rule[], request: Message): Rule {
  const chosen = rules.find((rule) => namesResource(rule, request))
  if (chosen) return chosen
  const fields = rules.flatMap(({ id }) => (typeof id === "object" ? [id] : []))
  const empty = fields.find(({ read }) => read(request) !== undefined)
  const home = rules.find(({ id }) => id === "home")
  if (home && empty) throw fieldError(resourceMissingId, empty.field, "is empty")
  if (home) return home
  const names = fields.map(({ field }) => field).join(", ")
  throw new Fault(
    "invalid_argument",
    resourceMissingId,
    `one of these fields is required: ${names}`,
  )
}

const resourceMissingId = "request.resource_missing"

type EvaluateRuleInput = Pick<CheckAccessInput, "holder" | "request"> &
  Pick<Access, "changes"> & { readonly rule: Rule }

/** The owners of the resource, or a fault if the rule denies access. */
export function evaluateRule<C extends Call>(
  authority: Authority<C>,
  cx: C,
  { rule, holder, request, changes }: EvaluateRuleInput,
): OwnerChain | Fault {
  const chain = ownersOf(authority, cx, rule, request)
  const { memberships, holds } = holder
  const grantingMemberships = memberships.filter((membership) => holds(membership, rule.permission))
  if (chain && grantingMemberships.some((membership) => covers(membership, chain))) {
    // Applications of the instance's own project, and the console, act for every user who signs in.
    if (!(changes && chain.internal)) return chain
    if (!hasPermissionOn(holder, instanceChain, instancePermission))
      return deniedError(instancePermission)
    return authority.outranksInstance(cx) ? chain : instanceTooHighError()
  }
  if (chain && chain.user === holder.userId && passesAsSelf(holder, rule.self, chain)) return chain
  return grantingMemberships.length === 0
    ? deniedError(rule.permission)
    : notFoundError(rule.resource)
}

/** The permission to change resources of the instance itself. */
const instancePermission = "iam.write"

/** The owners of the resource that the request names, or undefined if it does not exist. */
export function ownersOf<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rule: Rule,
  request: Message,
): OwnerChain | undefined {
  if (rule.resource === "instance")
    return isThisInstance(cx, rule, request) ? instanceChain : undefined
  const id = resourceIdOf(cx, rule, request)
  if (!id) return undefined
  const parent = rule.parent && requireId(rule.parent, request)
  const chain = authority.resources[rule.resource]?.(cx, id, parent)
  return rule.parent && chain?.parent !== parent ? undefined : chain
}

const instanceChain: OwnerChain = { instance: true }

function resourceIdOf({ orgId, caller }: Call, { id }: Rule, request: Message): string | undefined {
  if (id === "home") return caller.kind === "user" ? caller.orgId : undefined
  return id === "context" ? orgId : requireId(id, request)
}

/** A request can omit the instance, name it by ID or select it with a flag. */
function isThisInstance(cx: Call, { id }: Rule, request: Message): boolean {
  const named = typeof id === "object" ? id.read(request) : undefined
  return !named || named === true || named === cx.instance
}

function requireId(from: Rule["parent"], request: Message): string | undefined {
  const value = from?.read(request)
  if (typeof value === "string" && value !== "") return value
  throw missingIdError(from?.field ?? "")
}

/** A membership covers everything below the resource that it belongs to. */
export function covers({ level, id }: Membership, chain: OwnerChain): boolean {
  if (level === "instance") return chain.instance
  return chain[level] === id || (chain.shared?.({ level, id }) ?? false)
}

const passesAsSelf = (holder: RoleHolder, self: string, chain: OwnerChain): boolean =>
  self === "authenticated" || (self !== "" && hasPermissionOn(holder, chain, self))

export const hasPermissionOn = (
  { memberships, holds }: RoleHolder,
  chain: OwnerChain,
  permission: string,
): boolean =>
  memberships.some((membership) => covers(membership, chain) && holds(membership, permission))

/** The rows of a search that the caller can see. */
function scopeOf(holder: RoleHolder, { permission, self }: Rule): Scope {
  const grantingMemberships = holder.memberships.filter((each) => holder.holds(each, permission))
  const ids = (level: Membership["level"]) =>
    grantingMemberships.filter((each) => each.level === level).map(({ id }) => id)
  const scope = {
    all: grantingMemberships.some(({ level }) => level === "instance"),
    orgs: ids("org"),
    projects: ids("project"),
    grants: ids("grant"),
  }
  return self === "authenticated" ? { ...scope, self: holder.userId } : scope
}

/** The scope of a search with a scope for each kind of row. Without a kind, it matches nothing. */
function scopesOf(holder: RoleHolder, rules: readonly Rule[]): Scope {
  const kinds = Object.fromEntries(rules.map((rule) => [rule.resource, scopeOf(holder, rule)]))
  const permissions = rules.map((rule) => rule.permission).join(", ")
  if (!Object.values(kinds).some(canMatch)) throw deniedError(permissions)
  return { all: false, orgs: [], projects: [], grants: [], kinds }
}

const canMatch = ({ all, orgs, projects, grants, self }: Scope): boolean =>
  all || self !== undefined || orgs.length + projects.length + grants.length > 0
