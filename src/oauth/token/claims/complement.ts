import { type Complementing, complementClaims, refusedId } from "../../../domain/action/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"

/** Claims with what scripts add to them; a refusal of theirs is one of the protocol. */
export function complemented(cx: Cx, asked: Complementing): Claims | Promise<Claims> {
  const claims = complementClaims(cx, asked)
  return claims instanceof Promise ? claims.catch(refused) : claims
}

function refused(cause: unknown): never {
  if (!(cause instanceof Fault) || cause.id !== refusedId) throw cause
  throw new OAuthError("access_denied", describable(cause.message), { status: 403 })
}

/** RFC 6749 §5.2: what a description may consist of. */
const describable = (words: string): string => words.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?")
