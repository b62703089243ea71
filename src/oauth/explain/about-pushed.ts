import { pushedRequest } from "../../domain/grant/index.ts"
import { about, type Finding } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { pushedIdIn } from "../authorize/pushed.ts"
import type { Refused } from "./explain.ts"

/** RFC 9126 §4: what became of the request that a request_uri names. */
export function pushedFindings(
  cx: Cx,
  { sent, error }: Refused,
  clientId: string,
): readonly Finding[] {
  const subject = "request_uri"
  const uri = sent.get(subject)
  if (!uri || error !== "invalid_request_uri") return []
  const id = pushedIdIn(cx, uri)
  if (id === undefined) return [about(subject, "pushed.not_ours")]
  const state = cx.store.state(cx, pushedRequest, id)
  if (state.status === "absent") return [about(subject, "pushed.old")]
  if (state.clientId !== clientId) return [about(subject, "pushed.other_client")]
  return [about(subject, state.status === "used" ? "pushed.used" : "pushed.old")]
}
