import { type DescMethod, getOption, type JsonValue } from "@bufbuild/protobuf"
import { comments } from "../../gen/comments.ts"
import { type Access, successor } from "../../gen/core/options_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { nameOf } from "../method.ts"
import { httpStatusOf } from "../respond.ts"
import { errorsOf, exampleFaultsOf, ruleOf } from "./failure.ts"

type Json = Readonly<Record<string, unknown>>

/** General information in both documents. */
export const documentInfo = {
  contact: { name: "Latchkey" },
  license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
}

/** Relative to the URL of the document. */
export const servers = [{ url: "/" }]

export const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An access token with the project of this service in its audience.",
  },
} as const

/** A JSON request or response body with an example. */
export const content = (schema: Json, example?: JsonValue): Json => ({
  content: { "application/json": { schema, ...(example !== undefined && { example }) } },
})

/**
 * The description of an operation: its purpose, the required permission, and the successor of a
 * deprecated operation.
 */
export function describeOperation(method: DescMethod, more = ""): Json {
  const comment = comments[nameOf(method)] ?? ""
  const next = method.deprecated ? getOption(method, successor) : undefined
  const instead = next ? `Use ${next.method} instead: ${next.how}.` : ""
  return {
    summary: summaryOf(comment),
    description: [instead, comment, describeAccess(ruleOf(method)), more]
      .filter(Boolean)
      .join("\n\n"),
    ...(method.deprecated ? { deprecated: true } : {}),
  }
}

/** The text up to the end of the first sentence, colon or semicolon, without the period. */
const summaryOf = (comment: string): string => /^.*?(?=[:;]|\.( |$)|$)/.exec(comment)?.[0] ?? ""

export function describeAccess(rule: Access): string {
  if (rule.public) return "Requires no token."
  if (rule.authenticated) return "Requires a token but no permission."
  const permissions = [rule, ...rule.either].map(({ permission }) => permission).filter(Boolean)
  if (permissions.length > 0) return `Requires the permission ${permissions.join(" or ")}.`
  return rule.system ? `Requires the permission ${rule.system} of a system user.` : ""
}

/** The errors of an operation by HTTP status, each with an example; `written` creates the body. */
export function errorResponsesOf(
  method: DescMethod,
  schema: Json,
  createBody: (fault: Fault) => object,
): Json {
  const failures = exampleFaultsOf(method, ruleOf(method)).map((fault) => {
    const example: JsonValue = JSON.parse(JSON.stringify(createBody(fault)))
    const description = sentences[httpStatusOf(fault)] ?? "The call failed."
    const errors = httpStatusOf(fault) === 400 ? errorsOf(method) : []
    const named = errors.length > 0 ? ` Field errors: ${errors.join(", ")}.` : ""
    return [
      httpStatusOf(fault),
      { description: `${description}${named}`, ...content(schema, example) },
    ] as const
  })
  return Object.fromEntries(failures)
}

const sentences: Readonly<Record<number, string>> = {
  400: "The request is invalid.",
  401: "The token is missing, has expired or was revoked.",
  403: "The caller does not have the permission.",
  404: "The resource does not exist, or the caller can't access it.",
  409: "The resource was changed after the caller read it.",
}
