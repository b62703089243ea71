import { type DescMethod, getOption, hasOption, type Message } from "@bufbuild/protobuf"
import { type Access as AccessOption, access as accessOption } from "../gen/core/options_pb.ts"
import type { Call, Scope } from "../kernel/context.ts"
import { Fault, fieldError } from "../kernel/fault.ts"
import { absentError, deniedError, idMissingError, tokenMissingError } from "./faults.ts"
import { freshOf, mustBeFresh } from "./fresh.ts"
import { fieldsOf, type Reader, readerOf } from "./input/field.ts"
import { hasContext, nameOf } from "./method.ts"
import {
  instanceTooHighError,
  isChange,
  mustOutrank,
  type Rank,
  type Ranking,
  rankOf,
} from "./rank.ts"

/** Who owns a resource, from the instance down. `user` is set where the resource is a user. */
export type Chain = {
  readonly instance: true
  readonly org?: string
  readonly project?: string
  readonly grant?: string
  readonly user?: string
  /** What the resource hangs from: the project of an application. */
  readonly parent?: string
  /** Whether it is the instance's own, which no role below the instance changes. */
  readonly internal?: boolean
  /** Whether the thing that a role is held on reaches the resource without owning it. */
  readonly shared?: (thing: Pick<Membership, "level" | "id">) => boolean
}

/** Roles of a user on the instance, an organisation, a project or a grant. */
export type Membership = {
  readonly level: "instance" | "org" | "project" | "grant"
  readonly id: string
  readonly roles: readonly string[]
  /** The group that has the roles; absent for the user's own. */
  readonly groupId?: string | undefined
}

/** What the modules know about owners and roles; the server hands it in. */
export type Authority<C> = Ranking<C> & {
  /**
   * The owner chain of each kind of resource; undefined where it doesn't exist. `parent` is what
   * the caller says it hangs from, for kinds that are only unique within it.
   */
  readonly resources: Readonly<
    Record<string, (cx: C, id: string, parent: string | undefined) => Chain | undefined>
  >
  /** Whether a text is the key to a resource that its maker was given; for kinds that have one. */
  readonly keys: Readonly<Record<string, (cx: C, id: string, key: string) => boolean>>
  readonly memberships: (cx: C, userId: string) => readonly Membership[]
  /** Whether a user is neither deactivated nor removed, nor locked by an administrator. */
  readonly isActive: (cx: C, userId: string) => boolean
  /** What a role permits in the instance of the call; roles may be its own. */
  readonly permissions: (role: string, cx: C) => ReadonlySet<string>
}

/** A rule that names one resource. */
export type Rule = {
  readonly permission: string
  readonly resource: string
  /** undefined: the instance. "context", "home": the organisation of the context, the caller's. */
  readonly id: "context" | "home" | { readonly field: string; readonly read: Reader } | undefined
  readonly parent: { readonly field: string; readonly read: Reader } | undefined
  readonly self: string
  /** Where the request holds a key to the resource; it opens it to everybody with a token. */
  readonly key: Reader | undefined
}

/** What opens a method to who manages several instances. */
type SystemRule = {
  readonly permission: string
  /** Where the request names the instance; undefined where the method is about all of them. */
  readonly id: { readonly field: string; readonly read: Reader } | undefined
}

type Kind =
  | { readonly kind: "public" }
  | { readonly kind: "authenticated" }
  | { readonly kind: "resource"; readonly rule: Rule }
  | { readonly kind: "either"; readonly rules: readonly Rule[] }
  | { readonly kind: "search"; readonly rule: Rule }
  | { readonly kind: "searches"; readonly rules: readonly Rule[] }
  /** For system callers alone. */
  | { readonly kind: "system" }

/** The access rule of a method, made ready at start. */
export type Access = Kind & {
  readonly system?: SystemRule | undefined
  /** Whether the method changes something. */
  readonly changes: boolean
  /** Whether x-core-orgid names the organization that a call is made for: in version 1. */
  readonly hasContext: boolean
  readonly rank: Rank | undefined
  /** Whether one's own sign-in must be recent to do it to oneself. */
  readonly fresh: boolean
  /** Another way in where the rule does not open. */
  readonly or?: { readonly rule: Rule; readonly rank: Rank | undefined } | undefined
}

/**
 * Reads the access rule of a method. Refuses, naming the method: no rule, two kinds of rule, an
 * unknown resource, a field that the request does not have. What is refused here must not start.
 */
export function accessOf(method: DescMethod, resources: ReadonlySet<string>): Access {
  const refuse = (why: string) => new Error(`${nameOf(method)}: ${why}`)
  if (!hasOption(method, accessOption)) throw refuse("it has no access rule")
  const option = getOption(method, accessOption)
  const kind = kindOf(method, option, resources)
  const rank = rankOf(method, option)
  const { or } = option
  if (or && kind.kind !== "resource" && kind.kind !== "either") throw refuse("nothing stands by or")
  return {
    ...kind,
    system: option.system ? systemRuleOf(method, option) : undefined,
    changes: isChange(method),
    hasContext: hasContext(method),
    rank,
    fresh: freshOf(method, option),
    or: or && { rule: ruleOf(method, or, resources), rank: rankOf(method, or) },
  }
}

function kindOf(method: DescMethod, option: AccessOption, resources: ReadonlySet<string>): Kind {
  const refuse = (why: string) => new Error(`${nameOf(method)}: ${why}`)
  const kinds = [option.permission, option.public, option.authenticated, option.either.length > 0]
  const isOnlySystem = option.system !== "" && !option.resource && !kinds.some(Boolean)
  if (isOnlySystem) return { kind: "system" }
  if (kinds.filter(Boolean).length !== 1) {
    throw refuse("say exactly one of permission, either, public and authenticated")
  }
  if (option.system && (!option.permission || option.resource !== "instance" || !option.id)) {
    throw refuse("what the system may do, too, is a permission on an instance that is named")
  }
  if (option.permission) {
    const rule = ruleOf(method, option, resources)
    return { kind: option.search ? "search" : "resource", rule }
  }
  const hasMore = option.resource || option.id || option.parent || option.self || option.search
  if (hasMore || option.key)
    throw refuse("resource, id, parent, self, key and search belong to a permission")
  if (option.public) return { kind: "public" }
  if (option.authenticated) return { kind: "authenticated" }
  return eitherOf(method, option.either, resources)
}

function systemRuleOf(method: DescMethod, { system, id }: AccessOption): SystemRule {
  const fields = id ? fieldsOf(method.input, id) : undefined
  if (id && fields?.at(-1)?.fieldKind !== "scalar") {
    throw new Error(`${nameOf(method)}: its access rule names a field "${id}", which is not there`)
  }
  return { permission: system, id: fields && { field: id, read: readerOf(fields) } }
}

function eitherOf(
  method: DescMethod,
  options: readonly AccessOption[],
  resources: ReadonlySet<string>,
): Kind {
  const refuse = (why: string) => new Error(`${nameOf(method)}: ${why}`)
  const isFlat = options.every(
    (each) => each.permission && !each.public && !each.authenticated && each.either.length === 0,
  )
  if (!isFlat) throw refuse("each rule of either needs a permission, and nothing else")
  const rules = options.map((option) => ruleOf(method, option, resources))
  const searches = options.filter((option) => option.search).length
  if (searches === options.length) return { kind: "searches", rules }
  if (searches > 0) throw refuse("either all rules search or none does")
  const named = rules.every(
    ({ id }, at) => typeof id === "object" || (id === "home" && at > 0 && at === rules.length - 1),
  )
  if (!named) throw refuse("each rule of either needs an id, which decides between them")
  return { kind: "either", rules }
}

function ruleOf(method: DescMethod, option: AccessOption, resources: ReadonlySet<string>): Rule {
  const refuse = (why: string) => new Error(`${nameOf(method)}: ${why}`)
  const { permission, resource, id, parent, self, search, key } = option
  if (resource !== "instance" && !resources.has(resource)) {
    throw refuse(`its access rule names a resource "${resource}", which does not exist`)
  }
  if (search && (id || parent)) throw refuse("a search names no resource, so no id and no parent")
  if (!search && !id && resource !== "instance") throw refuse("its access rule needs an id")
  if (parent && !id) throw refuse("a parent needs an id")
  if (key && !id) throw refuse("a key needs an id")
  const context = contexts[id]
  if (context && resource !== "org") throw refuse(`"${id}" names an organisation`)
  if (search && self && self !== "authenticated") throw refuse("a search has no self to hold it on")
  const read = (path: string) => {
    const fields = fieldsOf(method.input, path)
    if (fields?.at(-1)?.fieldKind !== "scalar") {
      throw refuse(`its access rule names a field "${path}", which does not exist`)
    }
    return { field: path, read: readerOf(fields) }
  }
  const named = context ?? (id ? read(id) : undefined)
  return {
    permission,
    resource,
    id: named,
    self,
    parent: parent ? read(parent) : undefined,
    key: key ? read(key).read : undefined,
  }
}

/** Organisations that no field names. */
const contexts: Readonly<Record<string, "context" | "home">> = {
  "@org": "context",
  "@home": "home",
}

/**
 * Lets a call pass or faults. Answers the context with what the rule found: the scope of a search,
 * the organisation of the context. A resource of somebody else answers exactly like an absent one.
 */
export function authorise<C extends Call>(
  authority: Authority<C>,
  access: Access,
  cx: C,
  request: Message,
): C {
  if (access.kind === "public") return cx
  const { caller } = cx
  if (caller.kind === "anonymous") throw tokenMissingError()
  if (caller.kind === "system") return asSystem(authority, access.system, cx, request)
  if (access.kind === "system") throw deniedError(access.system?.permission ?? "of the system")
  if (access.hasContext && !isContextOpen(authority, cx, caller)) throw absentError("org")
  const outranks = (userId: string, reach: "anywhere" | "home" = "anywhere") =>
    authority.outranks(cx, userId, reach)
  const outranksInstance = () => authority.outranksInstance(cx)
  const holdsOnInstance = (permission: string) =>
    holdsHere(authority, cx, caller.userId, permission)
  const oneself: Chain = { instance: true, org: caller.orgId, user: caller.userId }
  const holdsOnOneself = (permission: string) =>
    holdsOn(holderOf(authority, cx, caller.userId), oneself, permission)
  const orgId = cx.orgId || caller.orgId
  const held = { holdsOnInstance, holdsOnOneself }
  const placed = { ...cx, orgId, outranks, outranksInstance, ...held }
  if (access.kind === "authenticated") {
    if (access.fresh) mustBeFresh(placed, access.rank, request)
    return placed
  }

  const holder = holderOf(authority, placed, caller.userId)
  if (access.kind === "search") {
    const scope = scopeOf(holder, access.rule)
    if (!mayMatch(scope)) throw deniedError(access.rule.permission)
    return { ...placed, scope }
  }
  if (access.kind === "searches") return { ...placed, scope: scopesOf(holder, access.rules) }
  const { holds, fallback } = admit(authority, placed, { access, holder, request })
  return fallback ? { ...placed, holds, fallback } : { ...placed, holds }
}

/** Whether the organization of the context is the caller's, or holds what they administer. */
function isContextOpen<C extends Call>(
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

/** Whether a user holds a permission on the whole instance. */
export const holdsHere = <C extends Call>(
  authority: Authority<C>,
  cx: C,
  userId: string,
  permission: string,
): boolean => holdsOn(holderOf(authority, cx, userId), here, permission)

type Entrance = {
  readonly access: Access & { readonly kind: "resource" | "either" }
  readonly holder: Holder
  readonly request: Message
}

/**
 * Opens by the rule, or by what stands beside it: then it answers why the rule itself didn't open.
 * Whichever it was, nobody above the caller may be touched. Answers what the caller holds there.
 */
export function admit<C extends Call>(
  authority: Authority<C>,
  cx: C,
  { access, holder, request }: Entrance,
): Pick<Call, "holds" | "fallback"> {
  const rule = access.kind === "resource" ? access.rule : chosenOf(access.rules, request)
  const { or, changes } = access
  const on = (chain: Chain) => (permission: string) => holdsOn(holder, chain, permission)
  const unlocked = unlock(authority, cx, rule, request)
  if (unlocked) return { holds: on(unlocked) }
  const opened = open(authority, cx, { rule, holder, request, changes })
  if (!(opened instanceof Fault)) {
    if (access.fresh && isOneself(cx, rule, opened)) mustBeFresh(cx, access.rank, request)
    if (access.rank) mustOutrank(authority, cx, access.rank, { request, touched: opened })
    return { holds: on(opened) }
  }
  const isAsked = or !== undefined && isNamed(or.rule, request)
  const beside = isAsked ? open(authority, cx, { rule: or.rule, holder, request, changes }) : opened
  if (beside instanceof Fault) throw opened
  if (or?.rank) mustOutrank(authority, cx, or.rank, { request, touched: beside })
  return { holds: on(beside), fallback: opened }
}

/**
 * Lets who manages several instances do what the rule says they may, on the instance that the
 * request names: the call is then one of that instance. Nothing is theirs by the way: where a rule
 * doesn't mention them, they hold no role.
 */
function asSystem<C extends Call>(
  authority: Authority<C>,
  rule: SystemRule | undefined,
  cx: C,
  request: Message,
): C {
  const roles = cx.caller.kind === "system" ? (cx.caller.roles ?? []) : []
  if (!rule) {
    throw new Fault("permission_denied", "access.denied", "the system has no business here")
  }
  const isHeld = roles.some((role) => authority.permissions(role, cx).has(rule.permission))
  if (!isHeld) throw deniedError(rule.permission)
  if (!rule.id) return { ...cx, orgId: "" }
  const instance = given(rule.id, request) ?? ""
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const placed = { ...cx, orgId: "", instance, scope, outranks: () => true }
  if (!authority.resources.instance?.(placed, instance, undefined)) throw absentError("instance")
  return placed
}

/** What the caller holds where. */
export type Holder = {
  readonly userId: string
  readonly memberships: readonly Membership[]
  readonly holds: (membership: Membership, permission: string) => boolean
}

export function holderOf<C>(authority: Authority<C>, cx: C, userId: string): Holder {
  return {
    userId,
    memberships: authority.memberships(cx, userId),
    holds: ({ roles }, permission) =>
      roles.some((role) => authority.permissions(role, cx).has(permission)),
  }
}

/** The owners of a resource to which the request holds the key. */
function unlock<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rule: Rule,
  request: Message,
): Chain | undefined {
  const key = rule.key?.(request)
  const fits = authority.keys[rule.resource]
  if (typeof key !== "string" || key === "" || !fits) return undefined
  const chain = chainOf(authority, cx, rule, request)
  return chain && fits(cx, idIn(cx, rule, request) ?? "", key) ? chain : undefined
}

/** Whether the caller themself is what it is about, named or meant. */
const isOneself = ({ caller }: Call, { id }: Rule, { user }: Chain): boolean =>
  id === "home" || (caller.kind === "user" && caller.userId === user)

export const isNamed = ({ id }: Rule, request: Message): boolean =>
  typeof id === "object" && Boolean(id.read(request))

/**
 * The rule whose resource the request names, or that of the caller's own organization where the
 * request has none of the fields. A field without a value is refused: its caller meant to name one.
 */
export function chosenOf(rules: readonly Rule[], request: Message): Rule {
  const chosen = rules.find((rule) => isNamed(rule, request))
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
    `say what this is about with one of: ${names}`,
  )
}

const resourceMissingId = "request.resource_missing"

type Door = Pick<Entrance, "holder" | "request"> & Pick<Access, "changes"> & { readonly rule: Rule }

/** The owners of what the request is about; a fault where the rule doesn't open it. */
export function open<C extends Call>(
  authority: Authority<C>,
  cx: C,
  { rule, holder, request, changes }: Door,
): Chain | Fault {
  const chain = chainOf(authority, cx, rule, request)
  const { memberships, holds } = holder
  const held = memberships.filter((membership) => holds(membership, rule.permission))
  if (chain && held.some((membership) => covers(membership, chain))) {
    // Applications of the instance's own project, and the console, act for whoever signs in.
    if (!(changes && chain.internal)) return chain
    if (!holdsOn(holder, here, ownPermission)) return deniedError(ownPermission)
    return authority.outranksInstance(cx) ? chain : instanceTooHighError()
  }
  if (chain && chain.user === holder.userId && passesAsSelf(holder, rule.self, chain)) return chain
  return held.length === 0 ? deniedError(rule.permission) : absentError(rule.resource)
}

/** What changes whatever is the instance's own. */
const ownPermission = "iam.write"

/** The owners of the resource that the request names; undefined where it is not there. */
export function chainOf<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rule: Rule,
  request: Message,
): Chain | undefined {
  if (rule.resource === "instance") return isThisInstance(cx, rule, request) ? here : undefined
  const id = idIn(cx, rule, request)
  if (!id) return undefined
  const parent = rule.parent && given(rule.parent, request)
  const chain = authority.resources[rule.resource]?.(cx, id, parent)
  return rule.parent && chain?.parent !== parent ? undefined : chain
}

const here: Chain = { instance: true }

function idIn({ orgId, caller }: Call, { id }: Rule, request: Message): string | undefined {
  if (id === "home") return caller.kind === "user" ? caller.orgId : undefined
  return id === "context" ? orgId : given(id, request)
}

/** The instance may stay unnamed, be named by its id, or be chosen by a flag. */
function isThisInstance(cx: Call, { id }: Rule, request: Message): boolean {
  const named = typeof id === "object" ? id.read(request) : undefined
  return !named || named === true || named === cx.instance
}

function given(from: Rule["parent"], request: Message): string | undefined {
  const value = from?.read(request)
  if (typeof value === "string" && value !== "") return value
  throw idMissingError(from?.field ?? "")
}

/** A membership reaches everything below the thing that it is on. */
export function covers({ level, id }: Membership, chain: Chain): boolean {
  if (level === "instance") return chain.instance
  return chain[level] === id || (chain.shared?.({ level, id }) ?? false)
}

const passesAsSelf = (holder: Holder, self: string, chain: Chain): boolean =>
  self === "authenticated" || (self !== "" && holdsOn(holder, chain, self))

export const holdsOn = (
  { memberships, holds }: Holder,
  chain: Chain,
  permission: string,
): boolean =>
  memberships.some((membership) => covers(membership, chain) && holds(membership, permission))

/** Which rows of a search the caller may see. */
function scopeOf(holder: Holder, { permission, self }: Rule): Scope {
  const held = holder.memberships.filter((each) => holder.holds(each, permission))
  const ids = (level: Membership["level"]) =>
    held.filter((each) => each.level === level).map(({ id }) => id)
  const scope = {
    all: held.some(({ level }) => level === "instance"),
    orgs: ids("org"),
    projects: ids("project"),
    grants: ids("grant"),
  }
  return self === "authenticated" ? { ...scope, self: holder.userId } : scope
}

/** The scope of a search for each kind of row. Without a kind, it matches nothing. */
function scopesOf(holder: Holder, rules: readonly Rule[]): Scope {
  const kinds = Object.fromEntries(rules.map((rule) => [rule.resource, scopeOf(holder, rule)]))
  const permissions = rules.map((rule) => rule.permission).join(", ")
  if (!Object.values(kinds).some(mayMatch)) throw deniedError(permissions)
  return { all: false, orgs: [], projects: [], grants: [], kinds }
}

const mayMatch = ({ all, orgs, projects, grants, self }: Scope): boolean =>
  all || self !== undefined || orgs.length + projects.length + grants.length > 0
