import { type Complementing, complementClaims, refusedId } from "../../../domain/action/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"

/** Claims with what scripts add to them; a refusal of theirs is one of the protocol. */
export async function complemented(cx: Cx, asked: Complementing): Promise<Claims> {
  try {
    return await complementClaims(cx, asked)
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== refusedId) throw cause
    throw new OAuthError("access_denied", describable(cause.message), { status: 403 })
  }
}

/** RFC 6749 §5.2: what a description may consist of. */
const describable = (words: string): string => words.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?")
