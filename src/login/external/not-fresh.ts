import { idpById } from "../../domain/idp/index.ts"
import type { Cx } from "../../store/index.ts"

/** The name of a provider, for a protocol that has ASCII alone (RFC 6749 §4.1.2.1). */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]|["\\]/g, "?").slice(0, 100)

/** Why nobody could be signed in freshly who came by a provider, in English. */
export function notFreshReason(cx: Cx, idpId: string): string {
  const name = idpById(cx, idpId)?.idp.name ?? idpId
  return (
    `the identity provider ${printable(name)} did not sign the user in again, and the user has ` +
    "no password, passkey or second factor here"
  )
}
