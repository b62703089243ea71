import type { PushedReference } from "../../../domain/grant/index.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"
import { parametersOf, required } from "../../request.ts"
import { openPushed } from "../pushed.ts"
import { requestObjectOf } from "./request-object.ts"

export type Requested = {
  readonly search: URLSearchParams
  /** The pushed request that brings them. */
  readonly pushed?: PushedReference
  /** Who tries the application out with it. */
  readonly testedBy?: string
}

/**
 * The parameters of an authorization request that count: those of the address, or only those that
 * a pushed request or a request object brings instead (RFC 9126 §4, RFC 9101 §6.3).
 */
export async function requestedBy(cx: Cx, search: URLSearchParams): Promise<Requested> {
  // What is wrong with plain parameters is told when it is known where to.
  if (!search.get("request") && !search.get("request_uri")) return { search }
  const parameters = parametersOf(search)
  const object = parameters.get("request")
  const uri = parameters.get("request_uri")
  if (uri === undefined) {
    return { search: await requestObjectOf(cx, object ?? "", parameters) }
  }
  // RFC 9101 §5: one or the other.
  if (object !== undefined) {
    throw new OAuthError("invalid_request", "request and request_uri exclude each other")
  }
  const opened = await openPushed(cx, uri, required(parameters, "client_id"))
  return { ...opened, search: new URLSearchParams(opened.search) }
}
