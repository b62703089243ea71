import type { Transaction } from "../../store/index.ts"
import { authorsInTransaction } from "../idp/index.ts"
import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { user } from "./model.ts"
import {
  type CredentialKind,
  credentialKindOf,
  listCreators,
  type Origin,
  recordedOrigin,
} from "./origins.ts"
import { ceremonyMs } from "./read.ts"
import { isAbsent, type User } from "./state.ts"

/**
 * A credential of a user, or a code to set one up, that another user created, or that was created
 * while another user could sign in as the user.
 */
export type ForeignCredential = Required<Pick<Origin, "by" | "at" | "isInherited">> & {
  readonly kind: CredentialKind
  /** Empty for kinds that a user has only one of. */
  readonly id: string
}

/** Credentials valid at a time (ms UTC) that others created. */
export function listForeignCredentials(state: User, now: number): readonly ForeignCredential[] {
  if (isAbsent(state)) return []
  return listCredentials(state, now).flatMap(({ kind, id = "", pendingOrigin }) => {
    const origin = pendingOrigin ?? recordedOrigin(state, kind, id)
    if (!origin) return []
    const { at, isInherited = false } = origin
    return listCreators(origin).map((by, index) => {
      return { kind, id, by, at, isInherited: isInherited || index > 0 }
    })
  })
}

/**
 * Credentials through which the authors of an organization's provider can sign in as a user, if
 * unrecorded: a link from before authors were recorded or whose provider they changed since, and
 * credentials created while they could sign in.
 */
export function listCredentialsOfAuthors(
  tx: Transaction,
  userId: string,
): readonly ForeignCredential[] {
  const state = tx.state(user, userId)
  if (isAbsent(state)) return []
  const added = new Map(linksOf(state).map(({ linkId, ...link }) => [linkId, link]))
  return listCredentials(state, tx.now).flatMap(({ kind, id = "", pendingOrigin }) => {
    const origin = pendingOrigin ?? recordedOrigin(state, kind, id)
    const link = kind === "provider_link" ? added.get(id) : undefined
    const { at = link?.added ?? 0, idpIds = [] } = origin ?? {}
    const named = [userId, ...listCreators(origin)]
    const authors = [...idpIds, ...(link ? [link.idpId] : [])].flatMap((each) =>
      authorsInTransaction(tx, each),
    )
    return [...new Set(authors)]
      .filter((each) => !named.includes(each))
      .map((by) => ({ kind, id, by, at, isInherited: true }))
  })
}

/** `pendingOrigin`: who started an incomplete registration, if not the user. */
type Credential = {
  readonly kind: CredentialKind
  readonly id?: string
  readonly pendingOrigin?: Origin | undefined
}

function listCredentials(
  state: Exclude<User, { readonly status: "absent" | "removed" }>,
  now: number,
): readonly Credential[] {
  const isValid = (code: { readonly expires: number } | null | undefined) =>
    code !== null && code !== undefined && code.expires > now
  if (state.kind === "machine") {
    return [
      ...idsWhere(state.keys, (expires) => expires > now).map((id) =>
        credential("service_key", id),
      ),
      ...idsWhere(state.personalTokens, isValid).map((id) => credential("access_token", id)),
      ...(state.secret ? [credential("client_secret")] : []),
    ]
  }
  const { keys, link } = factorsOf(state)
  const listed = Object.entries(keys).filter(
    ([, key]) => key.state === "ready" || now < key.begun + ceremonyMs,
  )
  return [
    ...(state.email.address === "" ? [] : [credential("email")]),
    ...(state.phone ? [credential("phone")] : []),
    ...(state.password ? [credential("password")] : []),
    ...(isValid(state.passwordCode) ? [credential("password_code")] : []),
    ...(isValid(state.invite) ? [credential("invitation")] : []),
    ...(isValid(link) ? [credential("passkey_code")] : []),
    ...listed.map(([id, key]) => ({
      ...credential(credentialKindOf(key.kind), id),
      pendingOrigin: key.state === "pending" ? key.origin : undefined,
    })),
    ...linksOf(state).map(({ linkId }) => credential("provider_link", linkId)),
  ]
}

const credential = (kind: CredentialKind, id = ""): Credential => ({ kind, id })

const idsWhere = <Value>(
  record: Readonly<Record<string, Value>>,
  isIn: (value: Value) => boolean,
): readonly string[] =>
  Object.keys(record).filter((id) => {
    const value = record[id]
    return value !== undefined && isIn(value)
  })
