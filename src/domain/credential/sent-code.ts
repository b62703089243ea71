import type { Cx, Transaction } from "../../store/index.ts"
import type { CodeFor } from "../lockout/index.ts"
import { user, verifierFrom } from "../user-model/index.ts"
import { codeContext, linkKeyOf } from "./code.ts"
import { codeOf } from "./code-check.ts"

/**
 * The user's latest code in plain text, for the message that contains it. `key` is the key
 * parameter of the link, `expires` is ms UTC. Returns undefined if the code was used or revoked, or
 * never existed.
 */
export function sentCode(
  cx: Cx,
  id: string,
  of: CodeFor,
): { readonly plain: string; readonly key: string; readonly expires: number } | undefined {
  const code = codeOf(cx.store.state(cx, user, id), of)
  const plain = code ? cx.secrets.open("seal", code.sealed, codeContext(id, of)) : undefined
  if (!code || plain === undefined) return undefined
  const key = linkKeyOf(cx, id, { of, sealed: code.sealed })
  return { plain, key, expires: code.expires }
}

/**
 * Records that the caller reads a sent code, so that from now on it proves no more than a returned
 * code. Returns false if the user no longer has this code.
 */
export function recordCodeViewed(
  tx: Transaction,
  id: string,
  { of, expires }: { readonly of: CodeFor; readonly expires: number },
): boolean {
  if (codeOf(tx.state(user, id), of)?.expires !== expires) return false
  const data = { of, expires, verifier: verifierFrom(tx) }
  tx.append(user, id, [{ type: "user.human.code.viewed", data }])
  return true
}
