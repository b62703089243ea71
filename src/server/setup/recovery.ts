import type { RecoveryPreview, RecoveryRequest, RecoveryResult } from "../../boot/recovery.ts"
import { createCode, linkKeyOf } from "../../domain/credential/index.ts"
import { listRemovableFactors } from "../../domain/factor/index.ts"
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
import { findByLoginName, findUserName } from "../../domain/user-lookup/index.ts"
import { findHomeOrg, isAbsent, signInStatusOf, user } from "../../domain/user-model/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { namesFrom } from "./setup.ts"

/** How long the link is valid; a new one can be created. */
const validityMs = 15 * 60_000

type Services = Pick<ServerServices, "call" | "store" | "log">

/**
 * Creates a link with which an owner can set a password, and removes their lockout and factors in
 * the same step. Makes the user an owner, or creates the user, if necessary. All owners are
 * notified.
 */
export async function recover(
  services: Services,
  request: RecoveryRequest,
): Promise<RecoveryResult> {
  const { owner: ownerName, email, keepsFactors } = request
  const { cx, known } = findRecoveryOwner(services, request)
  const userId = known ?? cx.ids.next()
  const orgId = known === undefined ? requireInstance(cx).defaultOrgId : findHomeOrg(cx, known)
  const newCode = createCode(cx, userId, { of: "password", returned: true })
  const code = { ...newCode, expires: Math.min(newCode.expires, cx.clock.now() + validityMs) }
  const step = await cx.store.transact(cx, (tx) => {
    if (known === undefined) {
      const [userName = "", address = ""] = [ownerName, email]
      const contact = { value: address, verified: false }
      const { firstName: givenName, lastName: familyName } = namesFrom(userName)
      const profile = { givenName, familyName }
      addUser(tx, userId, { kind: "human", orgId, userName, profile, email: contact })
    }
    const isNewOwner = ensureOwner(tx, userId, orgId)
    const removed = keepsFactors ? [] : listRemovableFactors(tx.state(user, userId))
    recoverUser(tx, userId, { code, keepsFactors })
    return { isNewOwner, removed }
  })
  const loginName = findUserName(cx, userId) ?? ""
  services.log.warning("created a recovery link for the owner {userId}", { userId })
  const key = linkKeyOf(cx, userId, { of: "password", sealed: code.sealed })
  const link = pageLink(cx, "password_reset", { userId, orgId, code: code.plain, key })
  return { link, loginName, expires: code.expires, ...step.value }
}

/** The factors that `recover` would remove, for confirmation. */
export function previewRecovery(services: Services, request: RecoveryRequest): RecoveryPreview {
  const { cx, known } = findRecoveryOwner(services, request)
  if (known === undefined) return { loginName: request.owner ?? "", removed: [] }
  const removed = listRemovableFactors(cx.store.state(cx, user, known))
  return { loginName: findUserName(cx, known) ?? "", removed: [...removed] }
}

/** The owner to recover; `known` is undefined for a new user. */
function findRecoveryOwner(services: Services, request: RecoveryRequest) {
  const cx = services.call(selectInstance(services, request), "recovery")
  const { owner: ownerName, email } = request
  const known = ownerName === undefined ? findOnlyOwner(cx) : findByLoginName(cx, ownerName)
  if (known === undefined && (ownerName === undefined || email === undefined))
    throw ownerNotFoundError(ownerName)
  return { cx, known }
}

function selectInstance(
  { store }: Pick<ServerServices, "store">,
  request: RecoveryRequest,
): string {
  const known = instanceIds(store)
  const requested = request.instance ?? firstInstance
  if (known.includes(requested)) return requested
  throw new Fault(
    "not_found",
    "recovery.instance_missing",
    known.length === 0
      ? "no instance is set up yet; open the link printed by latchkey setup-link"
      : `instance ${requested} not found; use one of: ${known.join(", ")}`,
  )
}

/** The human owner of the instance, if there is only one. */
function findOnlyOwner(cx: Cx): string | undefined {
  const people = ownersOf(requireInstance(cx))
    .map(({ userId }) => userId)
    .filter((id) => isHuman(cx, id))
  if (people.length < 2) return people[0]
  const names = people.flatMap((id) => findUserName(cx, id) ?? []).sort()
  throw new Fault(
    "failed_precondition",
    "recovery.owner_unclear",
    `there are several owners; name one with --owner: ${names.join(", ")}`,
  )
}

function isHuman(cx: Cx, id: string): boolean {
  const state = cx.store.state(cx, user, id)
  return !isAbsent(state) && state.kind === "human"
}

/** Returns whether the user was not an owner before. */
function ensureOwner(tx: Transaction, userId: string, orgId: string): boolean {
  const present = memberOf(tx.state(instance, tx.instance), userId)
  if (present?.roles.includes(ownerRole)) return false
  if (present) {
    const roles = [...present.roles, ownerRole]
    const abilityOf = (id: string) => signInStatusOf(tx, id)
    changeInstanceMember.within(tx, tx.instance, { userId, roles, abilityOf: abilityOf })
  } else addInstanceMember.within(tx, tx.instance, { userId, orgId, roles: [ownerRole] })
  return true
}

const ownerNotFoundError = (ownerName: string | undefined) =>
  new Fault(
    "not_found",
    "recovery.owner_missing",
    ownerName === undefined
      ? "no user owns the instance; create an owner with --owner LOGIN --email ADDRESS"
      : `login name ${ownerName} not found; create an owner with this name with --email ADDRESS`,
  )
