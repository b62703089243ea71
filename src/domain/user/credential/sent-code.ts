import type { Cx } from "../../../store/index.ts"
import { hasLeft, user } from "../model.ts"
import { type CodeFor, codeAbout } from "./code.ts"

/**
 * The code that a person was made last, in the plain, for the message that carries it; `expires` is
 * ms UTC. Undefined where it was used, taken back, or never made.
 */
export function sentCode(
  cx: Cx,
  id: string,
  of: CodeFor,
): { readonly plain: string; readonly expires: number } | undefined {
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state) || state.kind !== "human") return undefined
  const codes = { email: state.emailCode, phone: state.phoneCode, invite: state.invite }
  const code = codes[of]
  const plain = code ? cx.secrets.open("seal", code.sealed, codeAbout(id, of)) : undefined
  return code && plain !== undefined ? { plain, expires: code.expires } : undefined
}
