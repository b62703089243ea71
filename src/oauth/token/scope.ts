import { findClient } from "../../domain/app/index.ts"
import { isProjectActive } from "../../domain/project/index.ts"
import type { Cx } from "../../store/index.ts"
import { ownOf } from "../own.ts"

/** Scopes with a meaning of their own; discovery names them. */
export const standardScopes = ["openid", "profile", "email", "phone"] as const

/** Asks for a project in the audience; `core` stands for our own. */
const audienceScope = /^urn:core:iam:org:project:id:([^:]{1,200}):aud$/

/** RFC 6749 §3.3: what is granted of the asked scopes; what means nothing here is left out. */
export const grantedScopes = (asked: readonly string[]): readonly string[] =>
  asked.filter((scope) => isStandard(scope) || audienceScope.test(scope))

const isStandard = (scope: string) => standardScopes.some((known) => known === scope)

/** The projects that the scopes put in the audience; see `projectsAsAudience`. */
export function audienceOf(cx: Cx, scopes: readonly string[]): readonly string[] {
  const ids = scopes.flatMap((scope) => audienceScope.exec(scope)?.[1] ?? [])
  const named = ids.map((id) => (id === "core" ? ownOf(cx).projectId : id))
  return projectsAsAudience(cx, [...new Set(named)])
}

/**
 * Projects that may stand in an audience: those that are active. The id of a project may be chosen
 * by who makes it; one that is a client's id too would make other tokens pass for that client's.
 */
export const projectsAsAudience = (cx: Cx, ids: readonly string[]): readonly string[] =>
  ids.filter((id) => isProjectActive(cx, id) && findClient(cx, id) === undefined)
