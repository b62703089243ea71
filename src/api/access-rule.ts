import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { type Access as AccessOption, access as accessOption } from "../gen/core/options_pb.ts"
import { requiresRecentSignIn } from "./fresh.ts"
import { fieldsOf, type Reader, readerOf } from "./input/field.ts"
import { hasContext, nameOf } from "./method.ts"
import { isChange, parseRank, type Rank } from "./rank.ts"

/** An access rule for one resource. */
export type Rule = {
  readonly permission: string
  readonly resource: string
  /**
   * Undefined for the instance, "context" for the organization of the context, "home" for the
   * caller's own organization.
   */
  readonly id: "context" | "home" | { readonly field: string; readonly read: Reader } | undefined
  readonly parent: { readonly field: string; readonly read: Reader } | undefined
  readonly self: string
  /** Reads the key of the resource from the request. With the key, every token has access. */
  readonly key: Reader | undefined
}

/** Grants access to callers that manage several instances. */
export type SystemRule = {
  readonly permission: string
  /** Reads the instance from the request; undefined if the method covers all instances. */
  readonly id: { readonly field: string; readonly read: Reader } | undefined
}

type AccessKind =
  | { readonly kind: "public" }
  | { readonly kind: "authenticated" }
  | { readonly kind: "resource"; readonly rule: Rule }
  | { readonly kind: "either"; readonly rules: readonly Rule[] }
  | { readonly kind: "search"; readonly rule: Rule }
  | { readonly kind: "searches"; readonly rules: readonly Rule[] }
  /** Only for system callers. */
  | { readonly kind: "system" }

/** The access rule of a method, parsed at start. */
export type Access = AccessKind & {
  readonly system?: SystemRule | undefined
  /** Whether the method changes data. */
  readonly changes: boolean
  /** Whether x-core-orgid names the organization that a call is made for: in version 1. */
  readonly hasContext: boolean
  readonly rank: Rank | undefined
  /** Whether a caller who changes their own account must have signed in recently. */
  readonly fresh: boolean
  /** A fallback rule that applies when the main rule denies access. */
  readonly or?: { readonly rule: Rule; readonly rank: Rank | undefined } | undefined
}

/**
 * Parses the access rule of a method. Throws, naming the method, if the rule is missing, if there
 * are two kinds of rule, or if the rule names an unknown resource or request field.
 */
export function accessOf(method: DescMethod, resources: ReadonlySet<string>): Access {
  const refuse = (reason: string) => new Error(`${nameOf(method)}: ${reason}`)
  if (!hasOption(method, accessOption)) throw refuse("the access rule is missing")
  const option = getOption(method, accessOption)
  const kind = kindOf(method, option, resources)
  const rank = parseRank(method, option)
  const { or } = option
  if (or && kind.kind !== "resource" && kind.kind !== "either")
    throw refuse("only a rule for a resource can have an or rule")
  return {
    ...kind,
    system: option.system ? systemRuleOf(method, option) : undefined,
    changes: isChange(method),
    hasContext: hasContext(method),
    rank,
    fresh: requiresRecentSignIn(method, option),
    or: or && { rule: ruleOf(method, or, resources), rank: parseRank(method, or) },
  }
}

function kindOf(
  method: DescMethod,
  option: AccessOption,
  resources: ReadonlySet<string>,
): AccessKind {
  const refuse = (reason: string) => new Error(`${nameOf(method)}: ${reason}`)
  const kinds = [option.permission, option.public, option.authenticated, option.either.length > 0]
  const isOnlySystem = option.system !== "" && !option.resource && !kinds.some(Boolean)
  if (isOnlySystem) return { kind: "system" }
  if (kinds.filter(Boolean).length !== 1) {
    throw refuse("set exactly one of permission, either, public and authenticated")
  }
  if (option.system && (!option.permission || option.resource !== "instance" || !option.id)) {
    throw refuse("a system permission requires an instance resource with an id")
  }
  if (option.permission) {
    const rule = ruleOf(method, option, resources)
    return { kind: option.search ? "search" : "resource", rule }
  }
  const hasMore = option.resource || option.id || option.parent || option.self || option.search
  if (hasMore || option.key)
    throw refuse("resource, id, parent, self, key and search require a permission")
  if (option.public) return { kind: "public" }
  if (option.authenticated) return { kind: "authenticated" }
  return eitherOf(method, option.either, resources)
}

function systemRuleOf(method: DescMethod, { system, id }: AccessOption): SystemRule {
  const fields = id ? fieldsOf(method.input, id) : undefined
  if (id && fields?.at(-1)?.fieldKind !== "scalar") {
    throw new Error(
      `${nameOf(method)}: the access rule names the field "${id}", which does not exist`,
    )
  }
  return { permission: system, id: fields && { field: id, read: readerOf(fields) } }
}

function eitherOf(
  method: DescMethod,
  options: readonly AccessOption[],
  resources: ReadonlySet<string>,
): AccessKind {
  const refuse = (reason: string) => new Error(`${nameOf(method)}: ${reason}`)
  const isFlat = options.every(
    (each) => each.permission && !each.public && !each.authenticated && each.either.length === 0,
  )
  if (!isFlat) throw refuse("each rule of either must have only a permission")
  const rules = options.map((option) => ruleOf(method, option, resources))
  const searches = options.filter((option) => option.search).length
  if (searches === options.length) return { kind: "searches", rules }
  if (searches > 0) throw refuse("either all rules of either are searches or none is")
  const named = rules.every(
    ({ id }, at) => typeof id === "object" || (id === "home" && at > 0 && at === rules.length - 1),
  )
  if (!named) throw refuse("each rule of either must have an id to select it")
  return { kind: "either", rules }
}

function ruleOf(method: DescMethod, option: AccessOption, resources: ReadonlySet<string>): Rule {
  const refuse = (reason: string) => new Error(`${nameOf(method)}: ${reason}`)
  const { permission, resource, id, parent, self, search, key } = option
  if (resource !== "instance" && !resources.has(resource)) {
    throw refuse(`the access rule names the resource "${resource}", which does not exist`)
  }
  if (search && (id || parent)) throw refuse("a search can't have an id or a parent")
  if (!search && !id && resource !== "instance") throw refuse("the access rule must have an id")
  if (parent && !id) throw refuse("a parent requires an id")
  if (key && !id) throw refuse("a key requires an id")
  const context = implicitOrgs[id]
  if (context && resource !== "org") throw refuse(`"${id}" requires the resource org`)
  if (search && self && self !== "authenticated")
    throw refuse("a search can't have a self permission")
  const read = (path: string) => {
    const fields = fieldsOf(method.input, path)
    if (fields?.at(-1)?.fieldKind !== "scalar") {
      throw refuse(`the access rule names the field "${path}", which does not exist`)
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

/** Organizations that the access rule names without a request field. */
const implicitOrgs: Readonly<Record<string, "context" | "home">> = {
  "@org": "context",
  "@home": "home",
}
