import { findClient } from "../../domain/app/index.ts"
import {
  findPushedRequest,
  type PushedReference,
  parseRequestUri,
  pushRequest,
  requestUriOf,
  takePushedRequest,
} from "../../domain/grant/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** Stores a pushed request; returns its request_uri. */
export async function storePushedRequest(
  cx: Cx,
  clientId: string,
  search: URLSearchParams,
): Promise<string> {
  if (isPublicClient(cx, clientId)) cx.allowance?.spend("request")
  const id = cx.ids.next()
  const pushed = { clientId, search: search.toString() }
  await cx.store.transact(cx, (tx) => pushRequest(tx, id, pushed))
  return requestUriOf(cx, id)
}

export type OpenedRequest = {
  readonly search: string
  /** The reference that completing the request marks as used; absent if it is already used. */
  readonly pushed?: PushedReference
  /** The administrator who tests the application with it. */
  readonly testedBy?: string
}

/**
 * RFC 9126 §4: opens a pushed request, only for the client that sent it. Reloading the page opens
 * it again until it is completed; a test can be opened once.
 */
export async function openPushedRequest(
  cx: Cx,
  uri: string,
  clientId: string,
): Promise<OpenedRequest> {
  if (!uri.startsWith("urn:ietf:params:oauth:request_uri:")) {
    throw new OAuthError(
      "request_uri_not_supported",
      "request_uri must be from a pushed authorization request",
    )
  }
  const id = parseRequestUri(cx, uri)
  if (id === undefined) throw requestUriError("not_ours")
  const found = findPushedRequest(cx, id, clientId)
  if ("over" in found) throw requestUriError(found.over)
  if (found.testedBy === undefined) {
    return { ...found, pushed: { id, isCharged: isPublicClient(cx, clientId) } }
  }
  const { value: taken } = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, clientId))
  if ("over" in taken) throw requestUriError(taken.over)
  return taken
}

/**
 * A public client could be anyone, so its pushed requests count toward the rate limit until a user
 * signs in.
 */
function isPublicClient(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind === "oidc" && state.oidc.authMethod === "none"
}

const requestUriError = (reason: "not_ours" | "old" | "other_client" | "used") =>
  new OAuthError("invalid_request_uri", "the request_uri was already used or has expired", {
    finding: findingWithoutValue("request_uri", `pushed.${reason}`),
  })
