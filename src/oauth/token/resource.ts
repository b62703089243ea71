import { apiAt } from "../../domain/app/index.ts"
import { because, type Finding } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { type Parameters, wordsOf } from "../request.ts"
import { isEnterable, type Narrow } from "./audience.ts"
import { audienceOf, projectsAsAudience } from "./scope.ts"

/**
 * RFC 8707 §2: what `resource` puts in the audience; it may be given several times. A resource is
 * a project, written as the scope that puts one there, `urn:core:iam:org:project:id:ID:aud`; or the
 * URI of an API, which stands there itself beside its project (§2.2). Refuses every other.
 */
export const resourcesOf = (cx: Cx, parameters: Parameters): readonly string[] =>
  wordsOf(parameters.get("resource")).flatMap((uri) => {
    const [projectId] = audienceOf(cx, [isOurs(cx, uri) ? ourScope : uri])
    if (projectId !== undefined) return [projectId]
    const [ofApi] = projectsAsAudience(cx, [apiAt(cx, uri)?.projectId ?? ""])
    if (ofApi !== undefined) return [ofApi, uri]
    throw new OAuthError(
      "invalid_target",
      "resource is not registered: in the console, add it to the addresses of an API of the " +
        "application's project",
      { finding: targetFinding("resource", uri, "resource.unknown") },
    )
  })

/** RFC 8707 §2: our own interface is a resource only of requests with the scope openid. */
export const plainTargetError = (parameters: Parameters): OAuthError =>
  new OAuthError("invalid_target", "resource requires the scope openid", {
    finding: wordsOf(parameters.get("resource")).map((uri) =>
      targetFinding("resource", uri, "resource.closed"),
    ),
  })

/** RFC 9728 §3.3: our own interface, by the name that its metadata has. */
const isOurs = (cx: Cx, uri: string): boolean =>
  uri === issuerOf(cx).issuer || uri === `${issuerOf(cx).issuer}/`

const ourScope = "urn:core:iam:org:project:id:core:aud"

/** RFC 8707 §2, RFC 8693 §2.2.2: what a token can't be for. */
export const targetFinding = (
  subject: "resource" | "audience",
  received: string,
  cause: "resource.unknown" | "resource.closed",
): Finding => ({ subject, received, expected: [], ...because(subject, cause) })

/**
 * RFC 8707 §2.2: a token may be for fewer resources than were granted, never for others, nor for
 * one that its user may not enter. Its client stays in the audience, so that it can still be told
 * what its own token is worth. Nothing is looked up before it is asked: no stranger shall learn
 * here which projects there are.
 */
export const narrowing =
  (cx: Cx, parameters: Parameters): Narrow =>
  ({ audience, clientId, userId }) => {
    const resources = resourcesOf(cx, parameters)
    if (resources.length === 0) return audience
    if (resources.every((id) => audience.includes(id) && isEnterable(cx, userId, id))) {
      return audience.filter((id) => id === clientId || resources.includes(id))
    }
    throw new OAuthError("invalid_target", "resource names more than was granted", {
      finding: wordsOf(parameters.get("resource")).map((uri) =>
        targetFinding("resource", uri, "resource.closed"),
      ),
    })
  }
