import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Access as AccessOption } from "../gen/core/options_pb.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { fieldsOf, type Reader, readerOf } from "./input/field.ts"
import { nameOf } from "./method.ts"

/** What the modules know of who may do more than whom; oneself counts as one's equal. */
export type Ranking<C> = {
  /**
   * Whether the caller holds all that a user holds: wherever they hold it, or "home" on the
   * instance and in the user's own organisation.
   */
  readonly outranks: (cx: C, userId: string, reach: "anywhere" | "home") => boolean
  /** The same, "home", of whoever stopped a user. */
  readonly outranksStoppers: (cx: C, userId: string) => boolean
  /** The same, "home", of everybody who belongs to an organisation, and of who stopped it. */
  readonly outranksAll: (cx: C, orgId: string) => boolean
  /** Whether the caller holds all that anybody on the instance holds. */
  readonly outranksInstance: (cx: C) => boolean
}

/** Whom a method touches who must not be able to do more than the caller. */
export type Rank = {
  readonly of: "user" | "stopped" | "acting" | "org" | "instance" | "roles"
  /** Whether the request holds what proves that it is the user themself who asks. */
  readonly isProven: (request: Message) => boolean
}

/** The resources that each rank is about, whose chain names whom it touches; "roles" has none. */
const resources: Readonly<Record<Rank["of"], readonly string[] | undefined>> = {
  user: ["user", "session"],
  stopped: ["user"],
  acting: ["user"],
  org: ["org"],
  instance: ["instance"],
  roles: undefined,
}

/**
 * Whether a method changes something. Whatever isn't named like a reading does: what is named
 * unluckily is asked for its rank, and none escapes by its name.
 */
export const isChange = ({ name }: DescMethod): boolean =>
  !/^(Get|List|Search|Exists|Healthz)/.test(name)

/**
 * Reads what a rule says about rank. Refuses, naming the method: a change that says neither whom it
 * touches nor why that doesn't count, and a rank that its resource can't have.
 */
export function rankOf(method: DescMethod, option: AccessOption): Rank | undefined {
  const refuse = (why: string) => new Error(`${nameOf(method)}: ${why}`)
  const { rank, rankless, proof } = option
  const isSaid = rank !== "" || rankless !== ""
  if (!isChange(method)) {
    if (isSaid || proof.length > 0) throw refuse("it changes nothing, so it has no rank")
    return undefined
  }
  const isOnlySystem = option.system !== "" && option.resource === ""
  const isAnswered = option.authenticated !== "" || isOnlySystem
  if (isSaid === isAnswered || (rank && rankless)) {
    throw refuse("say either in rank whom it touches, or in rankless why that doesn't count")
  }
  if (!rank) {
    if (proof.length > 0) throw refuse("what proves a user belongs to a rank")
    return undefined
  }
  if (!isKnown(rank)) throw refuse(`its rank "${rank}" does not exist`)
  const about = resources[rank]
  const resource = option.resource || option.either.at(-1)?.resource || ""
  if (about && !about.includes(resource))
    throw refuse(`its rank "${rank}" is of a resource "${about.join('" or "')}"`)
  const reads = proof.map((path) => proofOf(method, path))
  return { of: rank, isProven: (request) => reads.some((read) => Boolean(read(request))) }
}

const isKnown = (rank: string): rank is Rank["of"] => Object.hasOwn(resources, rank)

function proofOf(method: DescMethod, path: string): Reader {
  const fields = fieldsOf(method.input, path)
  if (fields?.at(-1)?.fieldKind === "scalar") return readerOf(fields)
  throw new Error(`${nameOf(method)}: its proof is a field "${path}", which does not exist`)
}

type Touched = { readonly org?: string; readonly user?: string }

/**
 * Faults where whom the call touches may do more than the caller. It is asked once, before the
 * handler: who is raised while it runs was no higher when it began, and it could as well have ended
 * before. What is given and taken is compared where it is decided.
 */
export function mustOutrank<C extends Call>(
  { outranks, outranksStoppers, outranksAll, outranksInstance }: Ranking<C>,
  cx: C,
  { of, isProven }: Rank,
  { request, touched }: { readonly request: Message; readonly touched: Touched },
): void {
  if (of === "roles" || isProven(request)) return
  if (of === "org") {
    if (!outranksAll(cx, touched.org ?? "")) throw orgTooHighError()
    return
  }
  if (of === "instance") {
    // What an organization says for itself does not apply to those who outrank whoever said it.
    if (touched.org === undefined && !outranksInstance(cx)) throw instanceTooHighError()
    return
  }
  const userId = touched.user ?? ""
  if (!outranks(cx, userId, "home")) throw userTooHighError()
  if (of === "stopped" && !outranksStoppers(cx, userId)) throw stopperTooHighError()
  if (of === "acting" && !outranks(cx, userId, "anywhere")) throw userTooHighElsewhereError()
}

const userTooHighError = () =>
  new Fault(
    "permission_denied",
    "user.outranks_you",
    "this user may do more than you; somebody who may do as much has to do this",
  )

/** One id for both: who reads only that gets the same answer. */
const userTooHighElsewhereError = () =>
  new Fault(
    "permission_denied",
    "user.outranks_you",
    "this user has roles elsewhere that you lack, and whoever does this can act with them; " +
      "take these roles from them first, or ask somebody who may do as much",
  )

const stopperTooHighError = () =>
  new Fault(
    "permission_denied",
    "user.stopper_outranks_you",
    "whoever locked or deactivated this user may do more than you; " +
      "somebody who may do as much has to let them in again",
  )

const orgTooHighError = () =>
  new Fault(
    "permission_denied",
    "org.outranks_you",
    "somebody in this organisation, or who stopped it, may do more than you; " +
      "somebody who may do as much has to do this",
  )

export const instanceTooHighError = () =>
  new Fault(
    "permission_denied",
    "instance.outranks_you",
    "this reaches everybody on the instance, and somebody has permissions that you lack; ask an " +
      "owner of the instance to do this",
  )
