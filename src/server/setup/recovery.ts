import type { Recovered, RecoveryPreview, RecoveryRequest } from "../../boot/recovery.ts"
import { createCode, linkKeyOf } from "../../domain/credential/index.ts"
import { removableFactors } from "../../domain/factor/index.ts"
import {
  addInstanceMember,
  changeInstanceMember,
  instance,
  instanceIds,
  memberOf,
  ownerRole,
  ownersOf,
  requireInstance,
} from "../../domain/instance/index.ts"
import { pageLink } from "../../domain/message/index.ts"
import { firstInstance } from "../../domain/setup/index.ts"
import { addUser, recoverUser } from "../../domain/user/index.ts"
import { findByLoginName, userNameOf } from "../../domain/user-lookup/index.ts"
import { hasLeft, homeOf, standingOf, user } from "../../domain/user-model/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { namesFrom } from "./setup.ts"

/** So long a link is good that somebody has before them: who doesn't come makes another. */
const goodMs = 15 * 60_000

type Services = Pick<ServerServices, "call" | "store" | "log">

/**
 * Makes a link by which an owner of the instance chooses a password, in one step with all that
 * kept them out; who isn't an owner becomes one, and who isn't there is made. All owners are told.
 */
export async function recover(services: Services, request: RecoveryRequest): Promise<Recovered> {
  const { owner: asked, email, keepsFactors } = request
  const { cx, known } = ownerIn(services, request)
  const userId = known ?? cx.ids.next()
  const orgId = known === undefined ? requireInstance(cx).defaultOrgId : homeOf(cx, known)
  const made = createCode(cx, userId, { of: "password", returned: true })
  const code = { ...made, expires: Math.min(made.expires, cx.clock.now() + goodMs) }
  const step = await cx.store.transact(cx, (tx) => {
    if (known === undefined) {
      const [userName = "", address = ""] = [asked, email]
      const contact = { value: address, verified: false }
      const { firstName: givenName, lastName: familyName } = namesFrom(userName)
      const profile = { givenName, familyName }
      addUser(tx, userId, { kind: "human", orgId, userName, profile, email: contact })
    }
    const isNewOwner = makeOwner(tx, userId, orgId)
    const removed = keepsFactors ? [] : removableFactors(tx.state(user, userId))
    recoverUser(tx, userId, { code, keepsFactors })
    return { isNewOwner, removed }
  })
  const loginName = userNameOf(cx, userId) ?? ""
  services.log.warning("a link was made that lets the owner {userId} in again", { userId })
  const key = linkKeyOf(cx, userId, { of: "password", sealed: code.sealed })
  const link = pageLink(cx, "password_reset", { userId, orgId, code: code.plain, key })
  return { link, loginName, expires: code.expires, ...step.value }
}

/** What `recover` would remove: whoever has not lost it wants to know before. */
export function previewRecovery(services: Services, request: RecoveryRequest): RecoveryPreview {
  const { cx, known } = ownerIn(services, request)
  if (known === undefined) return { loginName: request.owner ?? "", removed: [] }
  const removed = removableFactors(cx.store.state(cx, user, known))
  return { loginName: userNameOf(cx, known) ?? "", removed: [...removed] }
}

/** Who is let in; `known` is undefined for somebody who is to be made. */
function ownerIn(services: Services, request: RecoveryRequest) {
  const cx = services.call(instanceOf(services, request), "recovery")
  const { owner: asked, email } = request
  const known = asked === undefined ? onlyOwner(cx) : findByLoginName(cx, asked)
  if (known === undefined && (asked === undefined || email === undefined)) throw nobodyError(asked)
  return { cx, known }
}

function instanceOf({ store }: Pick<ServerServices, "store">, request: RecoveryRequest): string {
  const known = instanceIds(store)
  const wanted = request.instance ?? firstInstance
  if (known.includes(wanted)) return wanted
  throw new Fault(
    "not_found",
    "recovery.instance_missing",
    known.length === 0
      ? "nothing is set up yet; open the set-up link that latchkey setup-link prints"
      : `there is no instance ${wanted}; name one of these: ${known.join(", ")}`,
  )
}

/** The person who owns the instance, where there is only one. */
function onlyOwner(cx: Cx): string | undefined {
  const people = ownersOf(requireInstance(cx))
    .map(({ userId }) => userId)
    .filter((id) => isPerson(cx, id))
  if (people.length < 2) return people[0]
  const names = people.flatMap((id) => userNameOf(cx, id) ?? []).sort()
  throw new Fault(
    "failed_precondition",
    "recovery.owner_unclear",
    `there are several owners; say which one with --owner: ${names.join(", ")}`,
  )
}

function isPerson(cx: Cx, id: string): boolean {
  const state = cx.store.state(cx, user, id)
  return !hasLeft(state) && state.kind === "human"
}

/** Answers whether they were none before. */
function makeOwner(tx: Transaction, userId: string, orgId: string): boolean {
  const present = memberOf(tx.state(instance, tx.instance), userId)
  if (present?.roles.includes(ownerRole)) return false
  if (present) {
    const roles = [...present.roles, ownerRole]
    const standing = (id: string) => standingOf(tx, id)
    changeInstanceMember.within(tx, tx.instance, { userId, roles, standingOf: standing })
  } else addInstanceMember.within(tx, tx.instance, { userId, orgId, roles: [ownerRole] })
  return true
}

const nobodyError = (asked: string | undefined) =>
  new Fault(
    "not_found",
    "recovery.owner_missing",
    asked === undefined
      ? "no person owns the instance; make one with --owner LOGIN --email ADDRESS"
      : `nobody signs in as ${asked}; make a new owner of that name with --email ADDRESS`,
  )
