import type { Cx } from "../../store/index.ts"
import { session } from "./model.ts"

/** Only a keyed hash of a session's token is kept. */
export const tokenHash = (cx: Pick<Cx, "secrets" | "instance">, id: string, token: string) =>
  cx.secrets.hash(token, aboutOf(cx, id))

/** Whether a token is that of a session, the latest of those that it had. */
export function isTokenOf(cx: Cx, id: string, token: string): boolean {
  const { status, tokenHash: hash } = cx.store.state(cx, session, id)
  return status === "active" && cx.secrets.matches(hash, token, aboutOf(cx, id))
}

/** Ids may repeat across instances: a token of one must not count in another. */
const aboutOf = ({ instance }: Pick<Cx, "instance">, id: string) =>
  `session_token/${instance}/${id}`
