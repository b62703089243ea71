import { revocation } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { stands } from "./chain.ts"
import { readToken, type Statement } from "./statement.ts"

/**
 * What an access token says, if it is ours, has neither expired nor been revoked, and all it hangs
 * from still stands.
 */
export function validToken(cx: Cx, token: string): Statement | undefined {
  const said = readToken(cx, token)
  return said && !isRevoked(cx, said) && stands(cx, said) ? said : undefined
}

const isRevoked = (cx: Cx, { id }: Statement): boolean => cx.store.state(cx, revocation, id).revoked
