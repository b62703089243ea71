import type { Refusal } from "../shell/index.ts"

/** Kinds of credentials that the server returns. */
export const credentialKinds = [
  ...(["password", "password_code", "invitation", "passkey", "passkey_code"] as const),
  ...(["security_key", "provider_link", "service_key", "client_secret", "access_token"] as const),
  ...(["email", "phone"] as const),
] as const
type CredentialKind = (typeof credentialKinds)[number]

/** A credential that another user created for a future administrator. */
export type UnconfirmedCredential = {
  readonly subject: string
  readonly userId: string
  readonly kind: CredentialKind
  /** ID among several of a kind; empty if there is only one. */
  readonly id: string
  /** When it was created, ms UTC, and by which user. */
  readonly at: number
  readonly by: string
}

/** The unconfirmed credentials in a rejection; empty if it was rejected for another reason. */
export function parseUnconfirmed(refusal: Refusal | undefined): readonly UnconfirmedCredential[] {
  if (refusal?.id !== "member.credentials_unconfirmed") return []
  return (refusal.conditions ?? []).flatMap(({ subject }) => {
    const parts = subject.split("/").map(decodeURIComponent)
    const [userId = "", name, id = "", at = "", by = ""] = parts
    const kind = credentialKinds.find((each) => each === name)
    return kind ? [{ subject, userId, kind, id, at: Number(at), by }] : []
  })
}
