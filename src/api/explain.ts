import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { EmptySchema } from "@bufbuild/protobuf/wkt"
import type { AccessDecision, AccessQuestion, RoleAssignment } from "../kernel/access.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import {
  type Authority,
  checkAccess,
  covers,
  holderOf,
  type OwnerChain,
  ownersOf,
  type RoleHolder,
} from "./access.ts"
import type { Access, Rule } from "./access-rule.ts"
import { notFoundError } from "./faults.ts"

/** Access rules by the full names of operations; undefined if the operation is unknown. */
export type Rules = (operation: string) => Access | undefined

/** The question names the resource, so the request is empty. */
const emptyRequest: Message = create(EmptySchema)

/**
 * Evaluates access for a user without running the operation and returns the roles that were
 * considered. Every sign-in is treated as recent. Throws `not_found` if the resource does not exist
 * or the caller has no role that covers it, and `invalid_argument` if the rule is unknown.
 */
export function explain<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rules: Rules,
  question: AccessQuestion,
): AccessDecision {
  const resolved = resolveRule(authority, rules, question)
  if (!resolved) return { permission: "", resource: "", owners: {}, holdings: [], outcome: "open" }
  const { access, rule } = resolved
  const { userId, orgId } = question
  const caller = { kind: "user", userId, orgId, clientId: "" } as const
  const subjectCx: C = { ...cx, caller, orgId }
  const chain = ownersOf(authority, subjectCx, rule, emptyRequest)
  if (!chain || !isVisible(authority, cx, chain)) throw notFoundError(rule.resource)
  const holder = holderOf(authority, subjectCx, userId)
  const refusal = catchFault(() =>
    checkAccess(authority, subjectCx, { access, holder, request: emptyRequest }),
  )
  const holdings = holdingsOf(authority, subjectCx, { holder, rule, chain })
  const isByRole = holdings.some(({ granting, reaches }) => granting.length > 0 && reaches)
  const { org, project, grant } = chain
  return {
    permission: rule.permission,
    resource: rule.resource,
    owners: { ...(org && { org }), ...(project && { project }), ...(grant && { grant }) },
    holdings,
    outcome: refusal ?? (isByRole ? "role" : "self"),
  }
}

type ResolvedRule = {
  readonly access: Access & { readonly kind: "resource" }
  readonly rule: Rule
}

/** The rule, applied to the resource of the question; undefined if every token has access. */
function resolveRule<C>(
  { resources }: Authority<C>,
  rules: Rules,
  question: AccessQuestion,
): ResolvedRule | undefined {
  const { subject, resource } = question
  if (subject.kind === "permission") {
    if (resource !== "instance" && !Object.hasOwn(resources, resource))
      throw resourceError(question)
    const rule = { permission: subject.name, resource, id: undefined, parent: undefined }
    const questionRule = ruleForQuestion({ ...rule, self: "", key: undefined }, question)
    const accessDefaults = {
      system: undefined,
      changes: false,
      hasContext: false,
      rank: undefined,
      fresh: false,
    }
    return {
      access: { ...accessDefaults, kind: "resource", rule: questionRule },
      rule: questionRule,
    }
  }
  const access = rules(subject.name)
  if (!access) throw operationError(subject.name)
  if (access.kind === "public" || access.kind === "authenticated") return undefined
  if (access.kind === "system") throw operationError(subject.name)
  // The rule for the caller's own organization is a default; the question always names a resource.
  const all = "rules" in access ? access.rules.filter(({ id }) => id !== "home") : [access.rule]
  const matching = all.filter((each) => resource === "" || each.resource === resource)
  const [first] = matching
  if (!first || matching.length > 1) throw resourceError(question)
  const { system, changes, rank, or } = access
  const rule = ruleForQuestion(first, question)
  const fallback =
    or && or.rule.resource === rule.resource
      ? { ...or, rule: ruleForQuestion(or.rule, question) }
      : undefined
  const accessFields = { system, changes, hasContext: false, rank, fresh: false, or: fallback }
  return { access: { ...accessFields, kind: "resource", rule }, rule }
}

/** A rule that reads the question instead of a request. */
function ruleForQuestion(rule: Rule, { id, parent }: AccessQuestion): Rule {
  const isOfInstance = rule.resource === "instance"
  return {
    ...rule,
    id: isOfInstance ? undefined : { field: "id", read: () => id },
    parent: rule.parent || parent ? { field: "parent", read: () => parent } : undefined,
    key: undefined,
  }
}

/** Whether the resource is the caller or a membership of the caller covers it. */
function isVisible<C extends Call>(authority: Authority<C>, cx: C, chain: OwnerChain): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return false
  const membershipsValue = authority.memberships(cx, caller.userId)
  return chain.user === caller.userId || membershipsValue.some((each) => covers(each, chain))
}

type HoldingsInput = {
  readonly holder: RoleHolder
  readonly rule: Rule
  readonly chain: OwnerChain
}

function holdingsOf<C>(
  authority: Authority<C>,
  cx: C,
  { holder, rule, chain }: HoldingsInput,
): readonly RoleAssignment[] {
  const relevance = ({ granting, reaches }: RoleAssignment) =>
    Number(granting.length > 0) + Number(reaches)
  return holder.memberships
    .map((membershipsValue) => ({
      level: membershipsValue.level,
      id: membershipsValue.id,
      roles: membershipsValue.roles,
      groupId: membershipsValue.groupId,
      granting: membershipsValue.roles.filter((role) =>
        authority.permissions(role, cx).has(rule.permission),
      ),
      reaches: covers(membershipsValue, chain),
    }))
    .sort((one, other) => relevance(other) - relevance(one))
}

/** Returns the fault that the decision throws. */
function catchFault(decide: () => unknown): Fault | undefined {
  try {
    decide()
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

const operationError = (name: string) =>
  new Fault(
    "invalid_argument",
    "reason.operation_unknown",
    `${name.slice(0, 100)} is not an operation that requires a permission; use a full name ` +
      "such as core.project.v2.ProjectService/UpdateProject",
  )

const resourceError = ({ subject, resource }: AccessQuestion) =>
  new Fault(
    "invalid_argument",
    "reason.resource_unknown",
    `${subject.name.slice(0, 100)} does not apply to the resource ` +
      `"${resource.slice(0, 100)}"; use a resource kind of its access rule, such as ` +
      "instance, org, project, app or user",
  )
