import type { Editor } from "../../store/index.ts"

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

export const kindOfKey = (kind: "passkey" | "u2f"): CredentialKind =>
  kind === "passkey" ? "passkey" : "security_key"
