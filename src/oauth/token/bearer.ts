import type { Cx } from "../../store/index.ts"
import { stands } from "./chain.ts"
import { readToken, type Statement } from "./statement.ts"

/** What a bearer token says, if it is ours, unexpired, and all it hangs from still stands. */
export function validToken(cx: Cx, token: string): Statement | undefined {
  const said = readToken(cx, token)
  return said && stands(cx, said) ? said : undefined
}
