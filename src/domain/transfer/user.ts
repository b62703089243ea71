import { Fault } from "../../kernel/fault.ts"
import { parseResourceId } from "../../kernel/text/identifier.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { addAuthorization } from "../authorization/index.ts"
import { importPassword } from "../credential/index.ts"
import { importTotp } from "../factor/index.ts"
import { addUserToGroup, findGroupByName } from "../group/index.ts"
import { addUser, deactivateUser, lockUser, type NewHuman } from "../user/index.ts"
import { validateLink } from "../user-link/index.ts"
import { type Gender, isAbsent, user } from "../user-model/index.ts"

type Contact = { readonly value: string; readonly verified: boolean }

/** A user to import with all data; "" means missing. */
export type UserToImport = {
  readonly id: string
  readonly userName: string
  readonly givenName: string
  readonly familyName: string
  readonly displayName: string
  readonly nickName: string
  readonly language: string
  readonly gender: Gender
  readonly email?: Contact | undefined
  readonly phone?: Contact | undefined
  readonly hash: string
  readonly changePassword: boolean
  readonly totp: string
  readonly state: "active" | "inactive" | "locked"
  readonly links: readonly {
    readonly provider: string
    readonly externalId: string
    readonly name: string
  }[]
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** The organization of the users; without a project, roles are rejected. */
export type ImportScope = { readonly orgId: string; readonly projectId?: string | undefined }

/**
 * Imports a user completely or not at all, in one step. An existing user is not changed. Groups
 * must exist (`createGroups`).
 */
export async function importOneUser(
  cx: Cx,
  scope: ImportScope,
  userToImport: UserToImport,
): Promise<"taken" | "there"> {
  const id = parseResourceId(cx.ids, "id", userToImport.id)
  const { status } = cx.store.state(cx, user, id)
  if (status !== "absent") {
    requireImportable(cx, scope.orgId, id)
    return "there"
  }
  const input = toNewHuman(cx, scope.orgId, userToImport)
  await cx.store.transact(cx, (tx) => {
    addUser(tx, id, input)
    if (userToImport.totp !== "") importTotp(tx, id, userToImport.totp)
    for (const name of new Set(userToImport.groups))
      addUserToGroup(tx, requireGroup(tx, scope.orgId, name), id)
    addRoles(tx, scope, { id, roles: userToImport.roles })
    if (userToImport.state === "inactive") deactivateUser.within(tx, id)
    if (userToImport.state === "locked") lockUser.within(tx, id)
  })
  return "taken"
}

function requireImportable(cx: Cx, orgId: string, id: string): void {
  if (isAbsent(cx.store.state(cx, user, id))) {
    throw idTakenError("a user with this ID was deleted; use another ID")
  }
  if (cx.store.receipt(cx, user, id)?.owner === orgId) return
  throw idTakenError("a user of another organization has this ID; use another ID")
}

function toNewHuman(cx: Cx, orgId: string, userToImport: UserToImport): NewHuman {
  const { userName, givenName, familyName, displayName, nickName, gender, email, phone } =
    userToImport
  if (!email) throw new Fault("invalid_argument", "transfer.empty", "the email address is required")
  const links = userToImport.links.map(({ provider: idpId, externalId, name }) => {
    const link = { idpId, externalId, name: name || externalId }
    validateLink(cx, orgId, link)
    return link
  })
  const names = { givenName, familyName, displayName, nickName, gender }
  return {
    kind: "human",
    orgId,
    userName,
    email,
    phone,
    links,
    profile: { ...names, preferredLanguage: userToImport.language },
    ...(userToImport.hash !== "" && {
      password: importPassword(userToImport.hash, userToImport.changePassword),
    }),
    metadata: Object.entries(userToImport.metadata).map(([key, value]) => ({
      key,
      value: parseMetadata(value),
    })),
  }
}

function requireGroup(tx: Transaction, orgId: string, name: string): string {
  const found = findGroupByName(tx, orgId, name)
  if (found !== undefined) return found
  throw new Fault("not_found", "group.missing", `group ${name} not found in this organization`)
}

type RoleHolderInput = { readonly id: string; readonly roles: readonly string[] }

function addRoles(
  tx: Transaction,
  { orgId, projectId }: ImportScope,
  { id, roles }: RoleHolderInput,
): void {
  if (roles.length === 0) return
  if (projectId === undefined) {
    throw new Fault("invalid_argument", "project.missing", "project_id is required for roles")
  }
  addAuthorization(tx, tx.ids.next(), { userId: id, projectId, orgId, roleKeys: roles })
}

/** RFC 2397: the prefix of metadata values that are not text. */
const dataUriPrefix = "data:;base64,"

/** A metadata value as text. */
export function formatMetadata(value: Uint8Array): string {
  const text = new TextDecoder().decode(value)
  const isText = Buffer.from(text).equals(value) && !text.startsWith(dataUriPrefix)
  return isText ? text : dataUriPrefix + Buffer.from(value).toString("base64")
}

const parseMetadata = (text: string): Uint8Array =>
  text.startsWith(dataUriPrefix)
    ? Buffer.from(text.slice(dataUriPrefix.length), "base64")
    : new TextEncoder().encode(text)

const idTakenError = (message: string) => new Fault("already_exists", "user.id_taken", message)
