import { readBytes } from "../../protocol/body.ts"
import { OAuthError } from "../error.ts"

/** Members of a JSON object from a client, with unchecked values. */
export type Members = Readonly<Record<string, unknown>>

const bytesMax = 16_384

/** RFC 7591 §3.1: parses the JSON object in the body of a request. */
export async function parseBody(request: Request): Promise<Members> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type !== "application/json") {
    throw new OAuthError("invalid_client_metadata", "the body must be application/json")
  }
  const bytes = await readBytes(request, bytesMax)
  if (!bytes) {
    const message = `the metadata must be at most ${bytesMax / 1024} kB`
    throw new OAuthError("invalid_client_metadata", message, { status: 413 })
  }
  const members = parseMembers(Buffer.from(bytes).toString())
  if (members) return members
  throw new OAuthError("invalid_client_metadata", "the body must be a JSON object")
}

/** The members of a JSON object; undefined if the text is invalid. */
export function parseMembers(text: string): Members | undefined {
  try {
    return toMembers(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof SyntaxError || cause instanceof RangeError) return undefined
    throw cause
  }
}

/** A value as members; undefined if it is not an object. RFC 7592 §2.2: null equals absent. */
export function toMembers(value: unknown): Members | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))
}

/** A string member; undefined if it is absent. */
export function findString(members: Members, name: string): string | undefined {
  const value = members[name]
  if (value === undefined || typeof value === "string") return value
  throw metadataError(name, "must be a string")
}

/** A member with an array of strings, without duplicates; undefined if it is absent. */
export function findStrings(members: Members, name: string): readonly string[] | undefined {
  const value = members[name]
  if (value === undefined) return undefined
  const texts = Array.isArray(value) ? value.filter((each) => typeof each === "string") : []
  if (Array.isArray(value) && texts.length === value.length) return [...new Set(texts)]
  throw metadataError(name, "must be an array of strings")
}

/** A Boolean member; false if it is absent. */
export function findFlag(members: Members, name: string): boolean {
  const value = members[name] ?? false
  if (typeof value === "boolean") return value
  throw metadataError(name, "must be true or false")
}

/** RFC 7591 §3.2.2: the error for a member; `wanted` continues the sentence after its name. */
export const metadataError = (name: string, requirement: string): OAuthError =>
  new OAuthError(
    name === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata",
    `${name} ${requirement}`,
  )
