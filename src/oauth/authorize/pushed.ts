import { findClient } from "../../domain/app/index.ts"
import {
  findPushedRequest,
  type PushedReference,
  pushRequest,
  requestNamed,
  requestUri,
  takePushedRequest,
} from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** Keeps what a client has pushed; answers the name that stands for it. */
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

export type OpenedRequest = {
  readonly search: string
  /** What its answer uses up; absent where it is used up already. */
  readonly pushed?: PushedReference
  /** Who tries the application out with it. */
  readonly testedBy?: string
}

/**
 * What a client has pushed before; RFC 9126 §4: only for the client itself. A page that is loaded
 * again opens it again, until it is answered; a test can be opened once.
 */
export async function openPushed(cx: Cx, uri: string, clientId: string): Promise<OpenedRequest> {
  if (!uri.startsWith("urn:ietf:params:oauth:request_uri:")) {
    throw new OAuthError("request_uri_not_supported", "request_uri must be one that was pushed")
  }
  const id = requestNamed(cx, uri)
  if (id === undefined) throw overError("not_ours")
  const found = findPushedRequest(cx, id, clientId)
  if ("over" in found) throw overError(found.over)
  if (found.testedBy === undefined) {
    return { ...found, pushed: { id, isCharged: isUnproven(cx, clientId) } }
  }
  const { value: taken } = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, clientId))
  if ("over" in taken) throw overError(taken.over)
  return taken
}

/** A client without a secret could be anybody: what it pushes costs until somebody signs in. */
function isUnproven(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind === "oidc" && state.oidc.authMethod === "none"
}

const overError = (why: "not_ours" | "old" | "other_client" | "used") =>
  new OAuthError("invalid_request_uri", "the request_uri was used before, or is too old", {
    finding: about("request_uri", `pushed.${why}`),
  })
