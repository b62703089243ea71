import { bytesWithin } from "../../protocol/body.ts"
import { OAuthError } from "../error.ts"

/** Members of a JSON object that somebody sent; anything may stand in them. */
export type Members = Readonly<Record<string, unknown>>

const bytesMax = 16_384

/** RFC 7591 §3.1: reads the JSON object that a request is. */
export async function membersIn(request: Request): Promise<Members> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type !== "application/json") {
    throw new OAuthError("invalid_client_metadata", "the body must be application/json")
  }
  const bytes = await bytesWithin(request, bytesMax)
  if (!bytes) {
    const said = `the metadata must not be larger than ${bytesMax / 1024} kB`
    throw new OAuthError("invalid_client_metadata", said, { status: 413 })
  }
  const members = membersOf(Buffer.from(bytes).toString())
  if (members) return members
  throw new OAuthError("invalid_client_metadata", "the body must be a JSON object")
}

/** A JSON object's members; undefined for what is none. */
export function membersOf(text: string): Members | undefined {
  try {
    return objectIn(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof SyntaxError || cause instanceof RangeError) return undefined
    throw cause
  }
}

/** A value as members; undefined for what is no object. RFC 7592 §2.2: null is as left out. */
export function objectIn(value: unknown): Members | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))
}

/** A member that is a text; undefined where it was left out. */
export function textIn(members: Members, name: string): string | undefined {
  const value = members[name]
  if (value === undefined || typeof value === "string") return value
  throw metadataError(name, "must be a text")
}

/** A member that is a list of texts, each once; undefined where it was left out. */
export function textsIn(members: Members, name: string): readonly string[] | undefined {
  const value = members[name]
  if (value === undefined) return undefined
  const texts = Array.isArray(value) ? value.filter((each) => typeof each === "string") : []
  if (Array.isArray(value) && texts.length === value.length) return [...new Set(texts)]
  throw metadataError(name, "must be a list of texts")
}

/** A member that is true or false; false where it was left out. */
export function flagIn(members: Members, name: string): boolean {
  const value = members[name] ?? false
  if (typeof value === "boolean") return value
  throw metadataError(name, "must be true or false")
}

/** RFC 7591 §3.2.2: what is wrong with a member, in words that go on after its name. */
export const metadataError = (name: string, wanted: string): OAuthError =>
  new OAuthError(
    name === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata",
    `${name} ${wanted}`,
  )
