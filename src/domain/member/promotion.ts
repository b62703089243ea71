import { asAuthor } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Cx, statement, type Transaction } from "../../store/index.ts"
import { listCredentialsOfAuthors, listForeignCredentials, user } from "../user-model/index.ts"
import { permissionsOfRole } from "./custom-role.ts"
import type { Target } from "./model.ts"
import { findMissingPermission, permissionsOn } from "./permission.ts"
import { isActiveIn } from "./rank.ts"
import { parseRoles } from "./roles-text.ts"

/** Permissions on a resource that a user is about to receive. */
export type Promotion = {
  readonly target: Target
  readonly userId: string
  readonly permissions: readonly string[]
}

/** The permissions of the roles that the user does not already have on the resource. */
export function promotionOf(
  tx: Transaction,
  { target, userId, roles }: Omit<Promotion, "permissions"> & { readonly roles: readonly string[] },
): Promotion {
  const heldPermissions = permissionsOn(tx, target, userId)
  const newPermissions = new Set(roles.flatMap((role) => [...permissionsOfRole(tx, role)]))
  return {
    target,
    userId,
    permissions: [...newPermissions].filter((each) => !heldPermissions.has(each)),
  }
}

const usersWithRole = statement<{ level: string; target: string; userId: string; text: string }>(
  `SELECT level, target, user_id AS userId, roles AS text FROM administrators
   WHERE instance = $instance AND instr(roles, $role) > 0 ORDER BY id`,
)

/** The promotions of all users with a role that receives more permissions. */
export const promotionsOf = (
  cx: Cx,
  tx: Transaction,
  { role, permissions }: { readonly role: string; readonly permissions: readonly string[] },
): readonly Promotion[] =>
  cx.store
    .all(cx, usersWithRole, { role: `|${role}|` })
    .filter(({ text }) => parseRoles(text).includes(role))
    .map(({ level, target: id, userId }) => {
      const target = targetOf(level, id)
      const heldPermissions = permissionsOn(tx, target, userId)
      return {
        target,
        userId,
        permissions: permissions.filter((each) => !heldPermissions.has(each)),
      }
    })

function targetOf(level: string, id: string): Target {
  if (level === "org" || level === "project" || level === "grant") return { level, id }
  return { level: "instance" }
}

/** Number of credentials in one error; the next ones are listed when these are confirmed. */
const listedMax = 100

/**
 * Rejects the promotion of a user while someone unknown to the caller could sign in as that user.
 * Everything that other users created for the user, or could have created as the user, is listed
 * until the caller confirms it. Administrators who set up an organization's provider could have
 * signed in as the users linked to it. What the caller or users with the same permissions created
 * needs no confirmation.
 */
export function requireConfirmed(
  tx: Transaction,
  promotions: readonly Promotion[],
  confirmed: readonly string[],
): void {
  const open = promotions
    .flatMap((each) => unconfirmedCredentialsOf(tx, each))
    .filter(({ subject }) => !confirmed.includes(subject))
  if (open.length === 0) return
  throw new Fault(
    "failed_precondition",
    "member.credentials_unconfirmed",
    "other users set credentials or addresses of this user, or could sign in as the user " +
      "when they were set; remove or replace them, or confirm those in the details with " +
      "confirmed_credentials of CreateAdministrator, UpdateAdministrator or UpdateRole",
    { preconditions: open.slice(0, listedMax) },
  )
}

function unconfirmedCredentialsOf(tx: Transaction, { target, userId, permissions }: Promotion) {
  if (permissions.length === 0) return []
  const isTrusted = (creator: string): boolean => {
    if (tx.caller.kind === "user" && tx.caller.userId === creator) return true
    // Authors that were never users are operators of the server.
    if (creator !== userId && tx.state(user, creator).status === "absent") return true
    if (creator === userId || !isActiveIn(tx, creator)) return false
    return findMissingPermission(asAuthor(tx, creator), target, permissions) === undefined
  }
  return [
    ...listForeignCredentials(tx.state(user, userId), tx.now),
    ...listCredentialsOfAuthors(tx, userId),
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
