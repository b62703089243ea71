import {
  type Complementing,
  complementClaims,
  type Replaceable,
  refusedId,
} from "../../../domain/action/index.ts"
import { type ApiApp, listScopes, type OidcApp } from "../../../domain/app/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"
import { clientAsking, projectAsking } from "./role.ts"

type Complemented = Omit<Complementing, "replaceable"> & {
  /** Whose application reads the claims; absent for the project of the client. */
  readonly projectId?: string
  /** That application, where it is known. */
  readonly application?: OidcApp | ApiApp
}

/** Claims with what scripts add to them; a refusal of theirs is one of the protocol. */
export function complemented(cx: Cx, asked: Complemented): Claims | Promise<Claims> {
  const claims = complementClaims(cx, { ...asked, replaceable: () => replaceableFor(cx, asked) })
  return claims instanceof Promise ? claims.catch(refused) : claims
}

/**
 * Before the scopes `groups` and `roles` were granted, scripts set these claims for applications
 * that requested them, and still do. Scripts of another organization than that of the project can't
 * give roles on it in this way, and a list that the project or the application turns on is never
 * replaced.
 */
function replaceableFor(cx: Cx, asked: Complemented): Replaceable {
  const { userId, clientId, projectId, application } = asked
  const asker =
    projectId === undefined
      ? clientAsking(cx, clientId, "userinfo")
      : projectAsking(cx, projectId, application)
  const names = listScopes.filter((name) => name !== asker?.groupsClaim)
  const home = cx.store.receipt(cx, user, userId)?.owner
  return { names, byScripts: asker !== undefined && asker.orgId === home }
}

function refused(cause: unknown): never {
  if (!(cause instanceof Fault) || cause.id !== refusedId) throw cause
  throw new OAuthError("access_denied", describable(cause.message), { status: 403 })
}

/** RFC 6749 §5.2: what a description may consist of. */
const describable = (words: string): string => words.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?")
