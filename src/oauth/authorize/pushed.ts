import { findClient } from "../../domain/app/index.ts"
import {
  pushRequest,
  requestNamed,
  requestUri,
  type TakenRequest,
  takePushedRequest,
} from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

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
  return requestUri(cx, id)
}

/** Takes what a client has pushed before; RFC 9126 §4: once, and only by the client itself. */
export async function takePushed(cx: Cx, uri: string, clientId: string): Promise<TakenRequest> {
  if (!uri.startsWith("urn:ietf:params:oauth:request_uri:")) {
    throw new OAuthError("request_uri_not_supported", "request_uri must be one that was pushed")
  }
  const id = requestNamed(cx, uri)
  if (id === undefined) throw overError("not_ours")
  const step = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, clientId))
  if ("over" in step.value) throw overError(step.value.over)
  const { testedBy } = step.value
  if (testedBy === undefined && isUnproven(cx, clientId)) cx.allowance?.refund("request")
  return step.value
}

/** A client without a secret could be anybody: what it pushes costs until a browser has come. */
function isUnproven(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind === "oidc" && state.oidc.authMethod === "none"
}

const overError = (why: "not_ours" | "old" | "other_client" | "used") =>
  new OAuthError("invalid_request_uri", "the request_uri was used before, or is too old", {
    finding: about("request_uri", `pushed.${why}`),
  })
