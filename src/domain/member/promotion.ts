import { asAuthor } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Cx, statement, type Transaction } from "../../store/index.ts"
import { credentialsOfAuthors, foreignCredentials, user } from "../user-model/index.ts"
import { permissionsIn } from "./custom-role.ts"
import { lackingOf, permissionsOn } from "./held.ts"
import type { Target } from "./model.ts"
import { isActiveIn } from "./rank.ts"
import { rolesIn } from "./roles-text.ts"

/** What a user is about to be permitted on a thing. */
export type Promotion = {
  readonly target: Target
  readonly userId: string
  readonly permissions: readonly string[]
}

/** What roles permit a user on a thing beyond what they hold there. */
export function promotionBy(
  tx: Transaction,
  { target, userId, roles }: Omit<Promotion, "permissions"> & { readonly roles: readonly string[] },
): Promotion {
  const held = permissionsOn(tx, target, userId)
  const given = new Set(roles.flatMap((role) => [...permissionsIn(tx, role)]))
  return { target, userId, permissions: [...given].filter((each) => !held.has(each)) }
}

const holders = statement<{ level: string; target: string; userId: string; text: string }>(
  `SELECT level, target, user_id AS userId, roles AS text FROM administrators
   WHERE instance = $instance AND instr(roles, $role) > 0 ORDER BY id`,
)

/** What everybody who has a role is about to be permitted by more permissions of it. */
export const promotionsBy = (
  cx: Cx,
  tx: Transaction,
  { role, permissions }: { readonly role: string; readonly permissions: readonly string[] },
): readonly Promotion[] =>
  cx.store
    .all(cx, holders, { role: `|${role}|` })
    .filter(({ text }) => rolesIn(text).includes(role))
    .map(({ level, target: id, userId }) => {
      const target = targetOf(level, id)
      const held = permissionsOn(tx, target, userId)
      return { target, userId, permissions: permissions.filter((each) => !held.has(each)) }
    })

function targetOf(level: string, id: string): Target {
  if (level === "org" || level === "project" || level === "grant") return { level, id }
  return { level: "instance" }
}

/** As many as one failure lists; the next ones are listed once these are confirmed. */
const listedMax = 100

/**
 * Refuses to permit a user more as long as somebody can sign in as them with what the caller does
 * not know of: whatever other users created for them, or could have created as them, is listed
 * until the caller confirms it. Whoever set up an organization's provider could have signed in as
 * those who are linked to it. What the caller created, and whoever holds the same permissions, is
 * nothing to confirm.
 */
export function mustBeConfirmed(
  tx: Transaction,
  promotions: readonly Promotion[],
  confirmed: readonly string[],
): void {
  const open = promotions
    .flatMap((each) => unsafeCredentials(tx, each))
    .filter(({ subject }) => !confirmed.includes(subject))
  if (open.length === 0) return
  throw new Fault(
    "failed_precondition",
    "member.credentials_unconfirmed",
    "other users set credentials or addresses of this user, or could sign in as the user when " +
      "they were set; remove or replace these, or confirm those " +
      "in the details with confirmed_credentials of CreateAdministrator, UpdateAdministrator or " +
      "UpdateRole",
    { preconditions: open.slice(0, listedMax) },
  )
}

function unsafeCredentials(tx: Transaction, { target, userId, permissions }: Promotion) {
  if (permissions.length === 0) return []
  const isTrusted = (creator: string): boolean => {
    if (tx.caller.kind === "user" && tx.caller.userId === creator) return true
    // Whoever never was a user runs the server.
    if (creator !== userId && tx.state(user, creator).status === "absent") return true
    if (creator === userId || !isActiveIn(tx, creator)) return false
    return lackingOf(asAuthor(tx, creator), target, permissions) === undefined
  }
  return [
    ...foreignCredentials(tx.state(user, userId), tx.now),
    ...credentialsOfAuthors(tx, userId),
  ]
    .filter(({ by }) => !isTrusted(by))
    .map(({ kind, id, by, at, isInherited }) => ({
      type: kind,
      subject: [userId, kind, id, at, by].map((each) => encodeURIComponent(each)).join("/"),
      description: isInherited
        ? `created on ${new Date(at).toISOString()}, when the user ${by} could sign in as this user`
        : `created by the user ${by} on ${new Date(at).toISOString()}`,
    }))
}
