import type { Transaction } from "../../store/index.ts"
import { authorsWithin } from "../idp/index.ts"
import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { user } from "./model.ts"
import { type CredentialKind, creatorsOf, kindOfKey, notedOrigin, type Origin } from "./origins.ts"
import { ceremonyMs } from "./read.ts"
import { hasLeft, type User } from "./state.ts"

/**
 * Something that a user signs in with, or can begin to, and that somebody else created; or that was
 * created while somebody else could sign in as the user.
 */
export type ForeignCredential = Required<Pick<Origin, "by" | "at" | "isInherited">> & {
  readonly kind: CredentialKind
  /** Empty for what a user has one of. */
  readonly id: string
}

/** What others created that a user can sign in with at a time, ms UTC. */
export function foreignCredentials(state: User, now: number): readonly ForeignCredential[] {
  if (hasLeft(state)) return []
  return credentialsOf(state, now).flatMap(({ kind, id = "", begun }) => {
    const origin = begun ?? notedOrigin(state, kind, id)
    if (!origin) return []
    const { at, isInherited = false } = origin
    return creatorsOf(origin).map((by, index) => {
      return { kind, id, by, at, isInherited: isInherited || index > 0 }
    })
  })
}

/**
 * What the authors of an organization's provider can sign in as a user with, where it does not name
 * them: a link that was made before links did, or whose provider they changed since, and what was
 * created while somebody could sign in by it.
 */
export function credentialsOfAuthors(
  tx: Transaction,
  userId: string,
): readonly ForeignCredential[] {
  const state = tx.state(user, userId)
  if (hasLeft(state)) return []
  const added = new Map(linksOf(state).map(({ linkId, ...link }) => [linkId, link]))
  return credentialsOf(state, tx.now).flatMap(({ kind, id = "", begun }) => {
    const origin = begun ?? notedOrigin(state, kind, id)
    const link = kind === "provider_link" ? added.get(id) : undefined
    const { at = link?.added ?? 0, idpIds = [] } = origin ?? {}
    const named = [userId, ...creatorsOf(origin)]
    const authors = [...idpIds, ...(link ? [link.idpId] : [])].flatMap((each) =>
      authorsWithin(tx, each),
    )
    return [...new Set(authors)]
      .filter((each) => !named.includes(each))
      .map((by) => ({ kind, id, by, at, isInherited: true }))
  })
}

/** `begun`: who began what is not finished, where it was somebody else. */
type Credential = {
  readonly kind: CredentialKind
  readonly id?: string
  readonly begun?: Origin | undefined
}

function credentialsOf(
  state: Exclude<User, { readonly status: "absent" | "removed" }>,
  now: number,
): readonly Credential[] {
  const isValid = (code: { readonly expires: number } | null | undefined) =>
    code !== null && code !== undefined && code.expires > now
  if (state.kind === "machine") {
    return [
      ...idsIn(state.keys, (expires) => expires > now).map((id) => of("service_key", id)),
      ...idsIn(state.personalTokens, isValid).map((id) => of("access_token", id)),
      ...(state.secret ? [of("client_secret")] : []),
    ]
  }
  const { keys, link } = factorsOf(state)
  const listed = Object.entries(keys).filter(
    ([, key]) => key.state === "ready" || now < key.begun + ceremonyMs,
  )
  return [
    ...(state.email.address === "" ? [] : [of("email")]),
    ...(state.phone ? [of("phone")] : []),
    ...(state.password ? [of("password")] : []),
    ...(isValid(state.passwordCode) ? [of("password_code")] : []),
    ...(isValid(state.invite) ? [of("invitation")] : []),
    ...(isValid(link) ? [of("passkey_code")] : []),
    ...listed.map(([id, key]) => ({
      ...of(kindOfKey(key.kind), id),
      begun: key.state === "pending" ? key.origin : undefined,
    })),
    ...linksOf(state).map(({ linkId }) => of("provider_link", linkId)),
  ]
}

const of = (kind: CredentialKind, id = ""): Credential => ({ kind, id })

const idsIn = <Value>(
  record: Readonly<Record<string, Value>>,
  isIn: (value: Value) => boolean,
): readonly string[] =>
  Object.keys(record).filter((id) => {
    const value = record[id]
    return value !== undefined && isIn(value)
  })
