import { findApiByResource } from "../../domain/app/index.ts"
import { type Finding, likelyCauseOf } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { type Parameters, splitWords } from "../parameters.ts"
import { canUserAccess, type Narrow } from "./audience.ts"
import { audienceOf, projectsAsAudience } from "./scope.ts"

/**
 * RFC 8707 §2: the audience of the parameter `resource`, which can be repeated. A resource is a
 * project, in the form of the scope `urn:core:iam:org:project:id:ID:aud`; or the URI of an API,
 * which is added together with its project (§2.2). Rejects all others.
 */
export const parseResources = (cx: Cx, parameters: Parameters): readonly string[] =>
  splitWords(parameters.get("resource")).flatMap((uri) => {
    const [projectId] = audienceOf(cx, [isManagementApi(cx, uri) ? managementApiScope : uri])
    if (projectId !== undefined) return [projectId]
    const [ofApi] = projectsAsAudience(cx, [findApiByResource(cx, uri)?.projectId ?? ""])
    if (ofApi !== undefined) return [ofApi, uri]
    throw new OAuthError(
      "invalid_target",
      "resource is not registered: in the console, add it to the resource URIs of an API " +
        "in the application's project",
      { finding: targetFinding("resource", uri, "resource.unknown") },
    )
  })

/** RFC 8707 §2: the management API is a resource only for requests with the scope openid. */
export const plainTargetError = (parameters: Parameters): OAuthError =>
  new OAuthError("invalid_target", "resource requires the scope openid", {
    finding: splitWords(parameters.get("resource")).map((uri) =>
      targetFinding("resource", uri, "resource.closed"),
    ),
  })

/** RFC 9728 §3.3: the management API, by the name in its metadata. */
const isManagementApi = (cx: Cx, uri: string): boolean =>
  uri === issuerOf(cx).issuer || uri === `${issuerOf(cx).issuer}/`

const managementApiScope = "urn:core:iam:org:project:id:core:aud"

/** RFC 8707 §2, RFC 8693 §2.2.2: the finding for an invalid target. */
export const targetFinding = (
  subject: "resource" | "audience",
  received: string,
  cause: "resource.unknown" | "resource.closed",
): Finding => ({ subject, received, expected: [], ...likelyCauseOf(subject, cause) })

/**
 * RFC 8707 §2.2: a token can be for fewer resources than were granted, but not for others, nor for
 * one that its user can't sign in to. Its client remains in the audience, so that it can introspect
 * its own token. Nothing is looked up before the check, so that the response does not reveal which
 * projects exist.
 */
export const narrowing =
  (cx: Cx, parameters: Parameters): Narrow =>
  ({ audience, clientId, userId }) => {
    const resources = parseResources(cx, parameters)
    if (resources.length === 0) return audience
    if (resources.every((id) => audience.includes(id) && canUserAccess(cx, userId, id))) {
      return audience.filter((id) => id === clientId || resources.includes(id))
    }
    throw new OAuthError("invalid_target", "resource contains more than was granted", {
      finding: splitWords(parameters.get("resource")).map((uri) =>
        targetFinding("resource", uri, "resource.closed"),
      ),
    })
  }
