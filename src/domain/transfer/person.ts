import { Fault } from "../../kernel/fault.ts"
import { givenId } from "../../kernel/text/given.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { addAuthorization } from "../authorization/index.ts"
import { importPassword } from "../credential/index.ts"
import { importTotp } from "../factor/index.ts"
import { enterGroup, groupNamed } from "../group/index.ts"
import { addUser, deactivateUser, lockUser, type NewHuman } from "../user/index.ts"
import { checkLink } from "../user-link/index.ts"
import { type Gender, hasLeft, user } from "../user-model/index.ts"

type Contact = { readonly value: string; readonly verified: boolean }

/** A person from elsewhere, with everything that they bring; "" is for what they don't. */
export type Newcomer = {
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

/** Where they come to; without a project their roles are refused. */
export type Home = { readonly orgId: string; readonly projectId?: string | undefined }

/**
 * Takes a person over, in one step: whole, or not at all. Whoever is there already stays as they
 * are, whatever is said of them. Groups must be there (`makeGroups`).
 */
export async function takePerson(cx: Cx, home: Home, given: Newcomer): Promise<"taken" | "there"> {
  const id = givenId(cx.ids, "id", given.id)
  const { status } = cx.store.state(cx, user, id)
  if (status !== "absent") {
    mustBeOf(cx, home.orgId, id)
    return "there"
  }
  const input = personOf(cx, home.orgId, given)
  await cx.store.transact(cx, (tx) => {
    addUser(tx, id, input)
    if (given.totp !== "") importTotp(tx, id, given.totp)
    for (const name of new Set(given.groups)) enterGroup(tx, groupOf(tx, home.orgId, name), id)
    authorize(tx, home, { id, roles: given.roles })
    if (given.state === "inactive") deactivateUser.within(tx, id)
    if (given.state === "locked") lockUser.within(tx, id)
  })
  return "taken"
}

function mustBeOf(cx: Cx, orgId: string, id: string): void {
  if (hasLeft(cx.store.state(cx, user, id))) {
    throw takenError("a person with this id was here and is removed; give them another id")
  }
  if (cx.store.receipt(cx, user, id)?.owner === orgId) return
  throw takenError("somebody of another organisation has this id; give them another one")
}

function personOf(cx: Cx, orgId: string, given: Newcomer): NewHuman {
  const { userName, givenName, familyName, displayName, nickName, gender, email, phone } = given
  if (!email) throw new Fault("invalid_argument", "transfer.empty", "the e-mail address is missing")
  const links = given.links.map(({ provider: idpId, externalId, name }) => {
    const link = { idpId, externalId, name: name || externalId }
    checkLink(cx, orgId, link)
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
    profile: { ...names, preferredLanguage: given.language },
    ...(given.hash !== "" && { password: importPassword(given.hash, given.changePassword) }),
    metadata: Object.entries(given.metadata).map(([key, value]) => ({
      key,
      value: bytesOf(value),
    })),
  }
}

function groupOf(tx: Transaction, orgId: string, name: string): string {
  const found = groupNamed(tx, orgId, name)
  if (found !== undefined) return found
  throw new Fault("not_found", "group.missing", `the organisation has no group ${name}`)
}

type Holder = { readonly id: string; readonly roles: readonly string[] }

function authorize(tx: Transaction, { orgId, projectId }: Home, { id, roles }: Holder): void {
  if (roles.length === 0) return
  if (projectId === undefined) {
    throw new Fault("invalid_argument", "project.missing", "say which project the roles are of")
  }
  addAuthorization(tx, tx.ids.next(), { userId: id, projectId, orgId, roleKeys: roles })
}

/** RFC 2397: what stands for bytes that are no text. */
const encoded = "data:;base64,"

/** Metadata as text. */
export function textOf(value: Uint8Array): string {
  const text = new TextDecoder().decode(value)
  const isText = Buffer.from(text).equals(value) && !text.startsWith(encoded)
  return isText ? text : encoded + Buffer.from(value).toString("base64")
}

const bytesOf = (text: string): Uint8Array =>
  text.startsWith(encoded)
    ? Buffer.from(text.slice(encoded.length), "base64")
    : new TextEncoder().encode(text)

const takenError = (message: string) => new Fault("already_exists", "user.id_taken", message)
