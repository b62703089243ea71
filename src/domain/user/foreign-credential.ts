import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { hasLeft, type User } from "./model.ts"
import { type CredentialKind, kindOfKey, notedOrigin, type Origin } from "./origins.ts"

/** Something that a user signs in with, or can begin to, and that somebody else created. */
export type ForeignCredential = Origin & {
  readonly kind: CredentialKind
  /** Empty for what a user has one of. */
  readonly id: string
}

/** What others created that a user can sign in with at a time, ms UTC. */
export function foreignCredentials(state: User, now: number): readonly ForeignCredential[] {
  if (hasLeft(state)) return []
  return credentialsOf(state, now).flatMap(({ kind, id = "" }) => {
    const origin = notedOrigin(state, kind, id)
    return origin ? [{ kind, id, ...origin }] : []
  })
}

type Credential = { readonly kind: CredentialKind; readonly id?: string }

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
  const ready = Object.entries(keys).filter(([, key]) => key.state === "ready")
  return [
    ...(state.password ? [of("password")] : []),
    ...(isValid(state.passwordCode) ? [of("password_code")] : []),
    ...(isValid(state.invite) ? [of("invitation")] : []),
    ...(isValid(link) ? [of("passkey_code")] : []),
    ...ready.map(([id, { kind }]) => of(kindOfKey(kind), id)),
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
