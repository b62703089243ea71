import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { EmptySchema } from "@bufbuild/protobuf/wkt"
import type { AccessAnswer, AccessQuestion, Holding } from "../kernel/access.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import {
  type Access,
  type Authority,
  admit,
  type Chain,
  chainOf,
  covers,
  type Holder,
  holderOf,
  type Rule,
} from "./access.ts"
import { absentError } from "./faults.ts"

/** Access rules by the full names of operations; undefined where there is none. */
export type Rules = (operation: string) => Access | undefined

/** What the rule is asked about is said by the question, so that there is no request to read. */
const nothing: Message = create(EmptySchema)

/**
 * Asks the decision about access itself, as it would be made for a user, and tells what it has
 * looked at. A sign-in counts as recent. Faults with `not_found` where the resource is not there or
 * nothing that the caller holds reaches it, with `invalid_argument` where there is no such rule.
 */
export function explain<C extends Call>(
  authority: Authority<C>,
  cx: C,
  rules: Rules,
  question: AccessQuestion,
): AccessAnswer {
  const asked = askedOf(authority, rules, question)
  if (!asked) return { permission: "", resource: "", owners: {}, holdings: [], outcome: "open" }
  const { access, rule } = asked
  const { userId, orgId } = question
  const caller = { kind: "user", userId, orgId, clientId: "" } as const
  const as: C = { ...cx, caller, orgId }
  const chain = chainOf(authority, as, rule, nothing)
  if (!chain || !isSeen(authority, cx, chain)) throw absentError(rule.resource)
  const holder = holderOf(authority, as, userId)
  const refusal = refusalOf(() => admit(authority, as, { access, holder, request: nothing }))
  const holdings = holdingsOf(authority, as, { holder, rule, chain })
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

type Asked = {
  readonly access: Access & { readonly kind: "resource" }
  readonly rule: Rule
}

/** The rule, about what the question names; undefined where it is open to every token. */
function askedOf<C>(
  { resources }: Authority<C>,
  rules: Rules,
  question: AccessQuestion,
): Asked | undefined {
  const { subject, resource } = question
  if (subject.kind === "permission") {
    if (resource !== "instance" && !Object.hasOwn(resources, resource))
      throw resourceError(question)
    const rule = { permission: subject.name, resource, id: undefined, parent: undefined }
    const about = aboutIt({ ...rule, self: "", key: undefined }, question)
    const free = {
      system: undefined,
      changes: false,
      hasContext: false,
      rank: undefined,
      fresh: false,
    }
    return { access: { ...free, kind: "resource", rule: about }, rule: about }
  }
  const access = rules(subject.name)
  if (!access) throw operationError(subject.name)
  if (access.kind === "public" || access.kind === "authenticated") return undefined
  if (access.kind === "system") throw operationError(subject.name)
  // The caller's own organization is a default: the question names one, too.
  const all = "rules" in access ? access.rules.filter(({ id }) => id !== "home") : [access.rule]
  const fitting = all.filter((each) => resource === "" || each.resource === resource)
  const [first] = fitting
  if (!first || fitting.length > 1) throw resourceError(question)
  const { system, changes, rank, or } = access
  const rule = aboutIt(first, question)
  const beside =
    or && or.rule.resource === rule.resource
      ? { ...or, rule: aboutIt(or.rule, question) }
      : undefined
  const kept = { system, changes, hasContext: false, rank, fresh: false, or: beside }
  return { access: { ...kept, kind: "resource", rule }, rule }
}

/** A rule that reads from the question what it would read from a request. */
function aboutIt(rule: Rule, { id, parent }: AccessQuestion): Rule {
  const isOfInstance = rule.resource === "instance"
  return {
    ...rule,
    id: isOfInstance ? undefined : { field: "id", read: () => id },
    parent: rule.parent || parent ? { field: "parent", read: () => parent } : undefined,
    key: undefined,
  }
}

/** Whether anything that the caller holds reaches the resource, or they are it. */
function isSeen<C extends Call>(authority: Authority<C>, cx: C, chain: Chain): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return false
  const held = authority.memberships(cx, caller.userId)
  return chain.user === caller.userId || held.some((each) => covers(each, chain))
}

type Looked = { readonly holder: Holder; readonly rule: Rule; readonly chain: Chain }

function holdingsOf<C>(
  authority: Authority<C>,
  cx: C,
  { holder, rule, chain }: Looked,
): readonly Holding[] {
  const weight = ({ granting, reaches }: Holding) => Number(granting.length > 0) + Number(reaches)
  return holder.memberships
    .map((held) => ({
      level: held.level,
      id: held.id,
      roles: held.roles,
      groupId: held.groupId,
      granting: held.roles.filter((role) => authority.permissions(role, cx).has(rule.permission)),
      reaches: covers(held, chain),
    }))
    .sort((one, other) => weight(other) - weight(one))
}

/** A refusal is the answer here. */
function refusalOf(decide: () => unknown): Fault | undefined {
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
    `${name.slice(0, 100)} is no operation that roles permit; they are named like ` +
      "core.project.v2.ProjectService/UpdateProject",
  )

const resourceError = ({ subject, resource }: AccessQuestion) =>
  new Fault(
    "invalid_argument",
    "reason.resource_unknown",
    `${subject.name.slice(0, 100)} is not about "${resource.slice(0, 100)}"; name the kind of ` +
      "resource as access rules do: instance, org, project, app, user, …",
  )
