import type { Cx } from "../../../store/index.ts"
import { user } from "../model.ts"
import { type CodeFor, codeAbout, linkKeyOf } from "./code.ts"
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
