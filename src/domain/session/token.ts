import type { Cx } from "../../store/index.ts"
import { session } from "./model.ts"

/** Only a keyed hash of a session's token is stored. */
export const hashToken = (cx: Pick<Cx, "secrets" | "instance">, id: string, token: string) =>
  cx.secrets.hash(token, hashContextOf(cx, id))

/** Whether a token is the latest token of a session. */
export function isTokenOf(cx: Cx, id: string, token: string): boolean {
  const { status, tokenHash: hash } = cx.store.state(cx, session, id)
  return status === "active" && cx.secrets.matches(hash, token, hashContextOf(cx, id))
}

/** IDs may repeat across instances: a token of one instance must not be valid in another. */
const hashContextOf = ({ instance }: Pick<Cx, "instance">, id: string) =>
  `session_token/${instance}/${id}`
