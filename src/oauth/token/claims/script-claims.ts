import {
  type ComplementInput,
  complementClaims,
  type ReplaceableClaims,
  rejectedId,
} from "../../../domain/action/index.ts"
import { type ApiApp, listScopes, type OidcApp } from "../../../domain/app/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"
import { clientRequester, projectRequester } from "./role.ts"

type ScriptClaimsInput = Omit<ComplementInput, "replaceable"> & {
  /** The project of the application that reads the claims; absent for the client's own. */
  readonly projectId?: string
  /** That application, if known. */
  readonly application?: OidcApp | ApiApp
}

/** Claims with those that scripts add; a denial by a script becomes a protocol error. */
export function withScriptClaims(cx: Cx, input: ScriptClaimsInput): Claims | Promise<Claims> {
  const claims = complementClaims(cx, { ...input, replaceable: () => replaceableClaims(cx, input) })
  return claims instanceof Promise ? claims.catch(throwProtocolError) : claims
}

/**
 * Before the scopes `groups` and `roles` existed, scripts set these claims for applications that
 * requested them, and still do. Scripts of other organizations can't assign roles on the project in
 * this way, and a list that the project or the application has enabled is never replaced.
 */
function replaceableClaims(cx: Cx, input: ScriptClaimsInput): ReplaceableClaims {
  const { userId, clientId, projectId, application } = input
  const asker =
    projectId === undefined
      ? clientRequester(cx, clientId, "userinfo")
      : projectRequester(cx, projectId, application)
  const names = listScopes.filter((name) => name !== asker?.groupsClaim)
  const home = cx.store.receipt(cx, user, userId)?.owner
  return { names, byScripts: asker !== undefined && asker.orgId === home }
}

function throwProtocolError(cause: unknown): never {
  if (!(cause instanceof Fault) || cause.id !== rejectedId) throw cause
  throw new OAuthError("access_denied", toDescription(cause.message), { status: 403 })
}

/** RFC 6749 §5.2: the characters that a description can contain. */
const toDescription = (words: string): string =>
  words.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?")
