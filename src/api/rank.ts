import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Access as AccessOption } from "../gen/core/options_pb.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { fieldsOf, type Reader, readerOf } from "./input/field.ts"
import { nameOf } from "./method.ts"

/**
 * Compares the permissions of the caller with those of other users. Users have the same rank as
 * themselves.
 */
export type RankComparison<C> = {
  /**
   * Whether the caller has all permissions of a user: anywhere, or with "home" on the instance and
   * in the user's own organization.
   */
  readonly outranks: (cx: C, userId: string, reach: "anywhere" | "home") => boolean
  /**
   * Whether the caller has, with "home", all permissions of the administrator who locked or
   * deactivated a user.
   */
  readonly outranksStoppers: (cx: C, userId: string) => boolean
  /**
   * Whether the caller has, with "home", all permissions of every member of an organization and of
   * the administrator who deactivated it.
   */
  readonly outranksAll: (cx: C, orgId: string) => boolean
  /** Whether the caller has all permissions that any user of the instance has. */
  readonly outranksInstance: (cx: C) => boolean
}

/** The users affected by a method, whose rank must not exceed that of the caller. */
export type Rank = {
  readonly kind: "user" | "stopped" | "acting" | "org" | "instance" | "roles"
  /** Whether the request contains a proof that it comes from the user. */
  readonly isProven: (request: Message) => boolean
}

/** The resources to which each rank applies; "roles" applies to any. */
const rankResources: Readonly<Record<Rank["kind"], readonly string[] | undefined>> = {
  user: ["user", "session"],
  stopped: ["user"],
  acting: ["user"],
  org: ["org"],
  instance: ["instance"],
  roles: undefined,
}

/**
 * Whether a method changes data. Every method counts as a change unless its name starts like that
 * of a read, so that no change escapes the rank check because of its name.
 */
export const isChange = ({ name }: DescMethod): boolean =>
  !/^(Get|List|Search|Exists|Healthz)/.test(name)

/**
 * Parses the rank of an access rule. Throws, naming the method, if a change has neither `rank` nor
 * `rankless`, or if the rank does not apply to the resource.
 */
export function parseRank(method: DescMethod, option: AccessOption): Rank | undefined {
  const refuse = (reason: string) => new Error(`${nameOf(method)}: ${reason}`)
  const { rank, rankless, proof } = option
  const isSaid = rank !== "" || rankless !== ""
  if (!isChange(method)) {
    if (isSaid || proof.length > 0) throw refuse("a method that changes nothing can't have a rank")
    return undefined
  }
  const isOnlySystem = option.system !== "" && option.resource === ""
  const isAnswered = option.authenticated !== "" || isOnlySystem
  if (isSaid === isAnswered || (rank && rankless)) {
    throw refuse("set exactly one of rank and rankless")
  }
  if (!rank) {
    if (proof.length > 0) throw refuse("a proof requires a rank")
    return undefined
  }
  if (!isRank(rank)) throw refuse(`the rank "${rank}" does not exist`)
  const allowedResources = rankResources[rank]
  const resource = option.resource || option.either.at(-1)?.resource || ""
  if (allowedResources && !allowedResources.includes(resource))
    throw refuse(`the rank "${rank}" requires the resource "${allowedResources.join('" or "')}"`)
  const reads = proof.map((path) => proofOf(method, path))
  return { kind: rank, isProven: (request) => reads.some((read) => Boolean(read(request))) }
}

const isRank = (rank: string): rank is Rank["kind"] => Object.hasOwn(rankResources, rank)

function proofOf(method: DescMethod, path: string): Reader {
  const fields = fieldsOf(method.input, path)
  if (fields?.at(-1)?.fieldKind === "scalar") return readerOf(fields)
  throw new Error(`${nameOf(method)}: the proof names the field "${path}", which does not exist`)
}

type AffectedOwners = { readonly org?: string; readonly user?: string }

/**
 * Throws if an affected user has permissions that the caller lacks. Checked once, before the
 * handler runs: a role added during the call could as well have been added after it. Roles that the
 * request itself gives or takes are compared by the command.
 */
export function requireHigherRank<C extends Call>(
  { outranks, outranksStoppers, outranksAll, outranksInstance }: RankComparison<C>,
  cx: C,
  { kind: of, isProven }: Rank,
  { request, touched: affected }: { readonly request: Message; readonly touched: AffectedOwners },
): void {
  if (of === "roles" || isProven(request)) return
  if (of === "org") {
    if (!outranksAll(cx, affected.org ?? "")) throw orgTooHighError()
    return
  }
  if (of === "instance") {
    // Settings of an organization don't affect users who outrank the person who changed them.
    if (affected.org === undefined && !outranksInstance(cx)) throw instanceTooHighError()
    return
  }
  const userId = affected.user ?? ""
  if (!outranks(cx, userId, "home")) throw userTooHighError()
  if (of === "stopped" && !outranksStoppers(cx, userId)) throw stopperTooHighError()
  if (of === "acting" && !outranks(cx, userId, "anywhere")) throw userTooHighElsewhereError()
}

const userTooHighError = () =>
  new Fault(
    "permission_denied",
    "user.outranks_you",
    "permission denied: this user has permissions that you lack; ask an administrator with " +
      "these permissions to do this",
  )

/** The same ID as above, because clients can't distinguish the two cases. */
const userTooHighElsewhereError = () =>
  new Fault(
    "permission_denied",
    "user.outranks_you",
    "permission denied: this user has roles elsewhere that you lack, and this operation " +
      "lets you act with them; remove these roles first, or ask an administrator with these " +
      "roles to do this",
  )

const stopperTooHighError = () =>
  new Fault(
    "permission_denied",
    "user.stopper_outranks_you",
    "permission denied: the administrator who locked or deactivated this user has " +
      "permissions that you lack; ask an administrator with these permissions to do this",
  )

const orgTooHighError = () =>
  new Fault(
    "permission_denied",
    "org.outranks_you",
    "permission denied: a member of this organization, or the administrator who " +
      "deactivated it, has permissions that you lack; ask an administrator with these " +
      "permissions to do this",
  )

export const instanceTooHighError = () =>
  new Fault(
    "permission_denied",
    "instance.outranks_you",
    "permission denied: this affects all users of the instance, and some have permissions " +
      "that you lack; ask an owner of the instance to do this",
  )
