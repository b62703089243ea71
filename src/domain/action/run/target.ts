import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { org } from "../../org/index.ts"
import { isApplicable } from "../../policy/index.ts"
import { askTargets, canManageTargets, type FunctionName, hasFunction } from "../../target/index.ts"
import { listMetadata, type Metadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import { effectError } from "./effect.ts"
import { rejectedId } from "./run.ts"
import { grantsForScript, userForScript } from "./script-user.ts"

/** The response of a target for a token, userinfo or a SAML response. */
export type TargetResponse = {
  readonly metadata: readonly Metadata[]
  readonly claims: readonly (readonly [key: string, value: unknown])[]
  readonly logs: readonly string[]
  readonly attributes: readonly (readonly [
    name: string,
    format: string,
    values: readonly string[],
  ])[]
}

/** Whether targets are set for the function. */
export const hasTargets = hasFunction

export type CallTargetsInput = {
  readonly userId: string
  /** Whether errors are ignored for this user. */
  readonly ignoresErrors: boolean
  /** Additional data for the targets. */
  readonly additionalData: () => object
  /** Applies a response; throws if it is not allowed. */
  readonly applyResponse: (response: TargetResponse) => void
}

/** Calls the targets of a function about a user. Throws if a target rejects, like a script. */
export async function callTargetsForScript(
  cx: Cx,
  name: FunctionName,
  input: CallTargetsInput,
): Promise<void> {
  if (!hasFunction(cx, name)) return
  const { userId, ignoresErrors, additionalData, applyResponse } = input
  try {
    await askTargets(cx, name, {
      payload: () => ({ ...userForTargets(cx, userId), ...additionalData() }),
      // Responses do not apply to users who outrank the authors of the target.
      applyResponse: (text, authors) => {
        const response = parseResponse(text)
        if (isApplicable(cx, userId, authors)) applyResponse(response)
      },
      ignoresErrors: () => ignoresErrors || canManageTargets(cx, userId),
    })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    throw new Fault("failed_precondition", rejectedId, cause.message, { cause })
  }
}

/** The user as targets receive it, with the names of the API. */
function userForTargets(cx: Cx, userId: string) {
  const id = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const { name, primaryDomain } = cx.store.state(cx, org, id)
  return {
    user: userForScript(cx, userId),
    user_metadata: [...listMetadata(cx, userId)].map(([key, value]) => ({
      key,
      value: Buffer.from(value).toString("base64"),
    })),
    org: { id, name, primary_domain: primaryDomain },
    user_grants: grantsForScript(cx, userId).grants,
  }
}

type Fields = Readonly<Record<string, unknown>>

const itemsMax = 50
const metadataMax = 100_000

/** Parses the response of a target. Throws if any part is invalid. */
function parseResponse(text: string): TargetResponse {
  const fields = requireObject(parseJson(text))
  return {
    metadata: requireList(fields, "set_user_metadata").map(parseMetadata),
    claims: requireList(fields, "append_claims").map((each) => {
      const { key, value } = requireObject(each)
      return [requireString("append_claims.key", key), value] as const
    }),
    logs: requireList(fields, "append_log_claims").map((each) =>
      requireString("append_log_claims", each),
    ),
    attributes: requireList(fields, "append_attribute").map((each) => {
      const { name, name_format: format, value } = requireObject(each)
      const values = requireList({ value }, "value").map((one) =>
        requireString("append_attribute.value", one),
      )
      return [
        requireString("append_attribute.name", name),
        requireString("name_format", format ?? ""),
        values,
      ]
    }),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw effectError("the response is not JSON")
  }
}

function requireObject(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw effectError("the response must contain an object")
  }
  return Object.fromEntries(Object.entries(value))
}

function requireList(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name] ?? []
  if (Array.isArray(value) && value.length <= itemsMax) return value
  throw effectError(`${name} must be a list of at most ${itemsMax} items`)
}

function requireString(name: string, value: unknown): string {
  if (typeof value === "string") return value
  throw effectError(`${name} must be a string`)
}

/** A base64 value, as in the API. */
function parseMetadata(each: unknown): Metadata {
  const { key, value } = requireObject(each)
  const [name, text] = [
    requireString("set_user_metadata.key", key),
    requireString("set_user_metadata.value", value),
  ]
  if (name === "" || name.length > 200 || text.length > metadataMax) {
    throw effectError(
      `metadata requires a key of 1 to 200 characters and a value of at most ${metadataMax}`,
    )
  }
  return { key: name, value: Buffer.from(text, "base64") }
}
