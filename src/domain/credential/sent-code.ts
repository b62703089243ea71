import type { Cx, Transaction } from "../../store/index.ts"
import type { CodeFor } from "../lockout/index.ts"
import { user, verifierFrom } from "../user-model/index.ts"
import { codeAbout, linkKeyOf } from "./code.ts"
import { codeOf } from "./code-check.ts"

/**
 * The code that a person was made last, in the plain, for the message that carries it. `key` is
 * what our own link carries beside it, `expires` is ms UTC. Undefined where the code was used,
 * taken back, or never made.
 */
export function sentCode(
  cx: Cx,
  id: string,
  of: CodeFor,
): { readonly plain: string; readonly key: string; readonly expires: number } | undefined {
  const code = codeOf(cx.store.state(cx, user, id), of)
  const plain = code ? cx.secrets.open("seal", code.sealed, codeAbout(id, of)) : undefined
  if (!code || plain === undefined) return undefined
  const key = linkKeyOf(cx, id, { of, sealed: code.sealed })
  return { plain, key, expires: code.expires }
}

/**
 * Notes that the caller reads a code that was sent, so that it proves no more from now on than one
 * that was returned to the caller. Returns false where the person does not have this code any more.
 */
export function noteViewed(
  tx: Transaction,
  id: string,
  { of, expires }: { readonly of: CodeFor; readonly expires: number },
): boolean {
  if (codeOf(tx.state(user, id), of)?.expires !== expires) return false
  const data = { of, expires, verifier: verifierFrom(tx) }
  tx.append(user, id, [{ type: "user.human.code.viewed", data }])
  return true
}
