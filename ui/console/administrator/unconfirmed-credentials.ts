import type { Refusal } from "../shell/index.ts"

/** The kinds of credentials that the server names. */
export const credentialKinds = [
  ...(["password", "password_code", "invitation", "passkey", "passkey_code"] as const),
  ...(["security_key", "provider_link", "service_key", "client_secret", "access_token"] as const),
  ...(["email", "phone"] as const),
] as const
type CredentialKind = (typeof credentialKinds)[number]

/** What another user created for somebody who is to become an administrator. */
export type Unconfirmed = {
  readonly subject: string
  readonly userId: string
  readonly kind: CredentialKind
  /** Which of a kind; empty where there is one. */
  readonly id: string
  /** When it was created, ms UTC, and by which user. */
  readonly at: number
  readonly by: string
}

/** What a refused promotion lists; nothing where it was refused for something else. */
export function unconfirmedIn(refusal: Refusal | undefined): readonly Unconfirmed[] {
  if (refusal?.id !== "member.credentials_unconfirmed") return []
  return (refusal.conditions ?? []).flatMap(({ subject }) => {
    const parts = subject.split("/").map(decodeURIComponent)
    const [userId = "", name, id = "", at = "", by = ""] = parts
    const kind = credentialKinds.find((each) => each === name)
    return kind ? [{ subject, userId, kind, id, at: Number(at), by }] : []
  })
}
