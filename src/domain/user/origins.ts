import type { Editor } from "../../store/index.ts"
import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { hasLeft, type User } from "./model.ts"

/** Another user who created what a user signs in with, or can begin to, and when, ms UTC. */
export type Origin = { readonly by: string; readonly at: number }

/** By kind and ID; absent for what the user created, and where others created nothing. */
export type WithOrigins = { readonly origins?: Readonly<Record<string, Origin>> }

/** What a user signs in with, or can begin to. */
export const credentialKinds = [
  ...(["password", "password_code", "invitation", "passkey", "passkey_code"] as const),
  ...(["security_key", "provider_link", "service_key", "client_secret", "access_token"] as const),
] as const
export type CredentialKind = (typeof credentialKinds)[number]

type Creation = { readonly id: string; readonly editor: Editor; readonly time: number }

/** Who created something by an event; undefined for the user, and where nobody is signed in. */
export const originOf = ({ id, editor: { user: by }, time }: Creation): Origin | undefined =>
  by === "" || by === id ? undefined : { by, at: time }

/** The same of a service user, whose own keys may be made with one that somebody else holds. */
export const originOfMachine = ({ editor: { user: by }, time }: Creation): Origin | undefined =>
  by === "" ? undefined : { by, at: time }

type Code = { readonly returned: boolean; readonly urlTemplate: string }

/** Who can read a code: whoever it was returned to, or whose page its link leads to. */
export const originOfCode = (event: Creation & { readonly data: Code }): Origin | undefined =>
  event.data.returned || event.data.urlTemplate !== "" ? originOf(event) : undefined

/** Notes who created something; without an origin it is the user's own, or removed. */
export function noted(
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  { id = "", origin }: { readonly id?: string; readonly origin?: Origin | undefined } = {},
): WithOrigins {
  const key = keyOf(kind, id)
  if (!origin && !Object.hasOwn(origins, key)) return {}
  const { [key]: _, ...others } = origins
  return { origins: origin ? { ...others, [key]: origin } : others }
}

/** Who created something of a user, where it was not the user. */
export const notedOrigin = (
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  id = "",
): Origin | undefined => origins[keyOf(kind, id)]

const keyOf = (kind: CredentialKind, id: string): string => (id === "" ? kind : `${kind}/${id}`)

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

export const kindOfKey = (kind: "passkey" | "u2f"): CredentialKind =>
  kind === "passkey" ? "passkey" : "security_key"

const of = (kind: CredentialKind, id = ""): Credential => ({ kind, id })

const idsIn = <Value>(
  record: Readonly<Record<string, Value>>,
  isIn: (value: Value) => boolean,
): readonly string[] =>
  Object.keys(record).filter((id) => {
    const value = record[id]
    return value !== undefined && isIn(value)
  })
