import { type Cx, remembered } from "../../store/index.ts"
import { isRevoked } from "./anchor.ts"
import { asOfNow } from "./audience.ts"
import { stands } from "./chain.ts"
import { readToken, type Statement } from "./statement.ts"

/**
 * What an access token says, if it is ours, has neither expired nor been revoked, and all it hangs
 * from still stands; without projects that have been closed to it since.
 */
export function validToken(cx: Cx, token: string): Statement | undefined {
  const said = readToken(cx, token)
  return said && !isRevoked(cx, said.id) && stands(cx, said) ? readNow(cx, said) : undefined
}

function readNow(cx: Cx, said: Statement): Statement {
  const known = answers(cx)
  const now = known.get(said) ?? asOfNow(cx, said)
  known.set(said, now)
  return now
}

/** By what was read of a token, which is kept; good until anything is written. */
const answers = remembered(() => new WeakMap<Statement, Statement>())
