import { type DescMethod, getOption, type JsonValue } from "@bufbuild/protobuf"
import { comments } from "../../gen/comments.ts"
import { type Access, successor } from "../../gen/core/options_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { nameOf } from "../method.ts"
import { httpStatusOf } from "../respond.ts"
import { errorsOf, failuresOf, ruleOf } from "./failure.ts"

type Json = Readonly<Record<string, unknown>>

/** What both documents say of the interface as a whole. */
export const about = {
  contact: { name: "Latchkey" },
  license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
}

/** Wherever the document was read from. */
export const servers = [{ url: "/" }]

export const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An access token with the project of this service in its audience.",
  },
} as const

/** JSON as the body of a request or of an answer, with an example of it. */
export const content = (schema: Json, example?: JsonValue): Json => ({
  content: { "application/json": { schema, ...(example !== undefined && { example }) } },
})

/** What it does, which permission it needs, and what to use instead of what is deprecated. */
export function explained(method: DescMethod, more = ""): Json {
  const comment = comments[nameOf(method)] ?? ""
  const next = method.deprecated ? getOption(method, successor) : undefined
  const instead = next ? `Use ${next.method} instead: ${next.how}.` : ""
  return {
    summary: summaryOf(comment),
    description: [instead, comment, whoMay(ruleOf(method)), more].filter(Boolean).join("\n\n"),
    ...(method.deprecated ? { deprecated: true } : {}),
  }
}

/** The first sentence, or what is before its first colon or semicolon, without its last dot. */
const summaryOf = (comment: string): string => /^.*?(?=[:;]|\.( |$)|$)/.exec(comment)?.[0] ?? ""

export function whoMay(rule: Access): string {
  if (rule.public) return "Needs no token."
  if (rule.authenticated) return "Needs a token, and no permission."
  const permissions = [rule, ...rule.either].map(({ permission }) => permission).filter(Boolean)
  if (permissions.length > 0) return `Needs the permission ${permissions.join(" or ")}.`
  return rule.system ? `Needs the permission ${rule.system} of a system user.` : ""
}

/** The failures of an operation by their status, each with an example; `written` makes a body. */
export function failuresIn(
  method: DescMethod,
  schema: Json,
  written: (fault: Fault) => object,
): Json {
  const failures = failuresOf(method, ruleOf(method)).map((fault) => {
    const example: JsonValue = JSON.parse(JSON.stringify(written(fault)))
    const description = sentences[httpStatusOf(fault)] ?? "The call failed."
    const errors = httpStatusOf(fault) === 400 ? errorsOf(method) : []
    const named = errors.length > 0 ? ` Errors of its fields: ${errors.join(", ")}.` : ""
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
  404: "There is no such resource, or the caller can't see it.",
  409: "The resource was changed after the caller read it.",
}
