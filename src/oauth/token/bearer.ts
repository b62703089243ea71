import type { Cx } from "../../store/index.ts"
import { isRevoked } from "./anchor.ts"
import { stands } from "./chain.ts"
import { readToken, type Statement } from "./statement.ts"

/**
 * What an access token says, if it is ours, has neither expired nor been revoked, and all it hangs
 * from still stands.
 */
export function validToken(cx: Cx, token: string): Statement | undefined {
  const said = readToken(cx, token)
  return said && !isRevoked(cx, said.id) && stands(cx, said) ? said : undefined
}
