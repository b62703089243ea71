import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, wordsOf } from "../request.ts"
import { audienceOf } from "./scope.ts"

/**
 * RFC 8707 §2: the projects that `resource` names; it may be given several times. A resource is a
 * project here, written as the scope that puts one in the audience:
 * `urn:core:iam:org:project:id:ID:aud`. Refuses every other.
 */
export const resourcesOf = (cx: Cx, parameters: Parameters): readonly string[] =>
  wordsOf(parameters.get("resource")).map((uri) => {
    const [projectId] = audienceOf(cx, [uri])
    if (projectId !== undefined) return projectId
    throw new OAuthError("invalid_target", "resource names no project that tokens can be for")
  })
