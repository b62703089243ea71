import { findClient } from "../../domain/app/index.ts"
import { pushRequest, takePushedRequest } from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** RFC 9126 §2.2: what begins so is a request that was pushed here, and fetched from nowhere. */
const prefix = "urn:ietf:params:oauth:request_uri:"

/** Keeps what a client has pushed; answers the name that stands for it, once. */
export async function keepPushed(
  cx: Cx,
  clientId: string,
  search: URLSearchParams,
): Promise<string> {
  if (isUnproven(cx, clientId)) cx.allowance?.spend("request")
  const id = cx.ids.next()
  const pushed = { clientId, search: search.toString() }
  await cx.store.transact(cx, (tx) => pushRequest(tx, id, pushed))
  return prefix + cx.secrets.seal("token", id, aboutOf(cx))
}

/** Takes what a client has pushed before; RFC 9126 §4: once, and only by the client itself. */
export async function takePushed(cx: Cx, uri: string, clientId: string): Promise<URLSearchParams> {
  if (!uri.startsWith(prefix)) {
    throw new OAuthError("request_uri_not_supported", "request_uri must be one that was pushed")
  }
  const id = cx.secrets.open("token", uri.slice(prefix.length), aboutOf(cx))
  if (id === undefined) throw overError("not_ours")
  const step = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, clientId))
  if ("over" in step.value) throw overError(step.value.over)
  if (isUnproven(cx, clientId)) cx.allowance?.refund("request")
  return new URLSearchParams(step.value.search)
}

/** A client without a secret could be anybody: what it pushes costs until a browser has come. */
function isUnproven(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind === "oidc" && state.oidc.authMethod === "none"
}

/** Ids may repeat across instances: a name of one must not open in another. */
const aboutOf = (cx: Cx) => `request_uri/${cx.instance}`

const overError = (why: "not_ours" | "old" | "other_client" | "used") =>
  new OAuthError("invalid_request_uri", "the request_uri was used before, or is too old", {
    finding: about("request_uri", `pushed.${why}`),
  })
