import type { Cx } from "../../store/index.ts"
import { findBrandingFile } from "../policy/index.ts"
import { findAvatar } from "../user/index.ts"
import { user } from "../user-model/index.ts"
import { mediaTypes, typeOf } from "./file.ts"

/** A public file. */
export type PublicFile = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
  /** Changes with the content; quoted, as in headers. */
  readonly etag: string
}

const brandingPath = /^\/assets\/v1\/([^/]+)\/policy\/label\/([\w-]{22}\.[a-z0-9]+)$/
const avatarPath = /^\/assets\/v1\/([^/]+)\/users\/([^/]+)\/avatar\/([\w-]{22}\.[a-z0-9]+)$/

/**
 * The public file at a path; "nothing" if the file does not exist, undefined if the path is not
 * that of a file.
 */
export function publicFile(cx: Cx, pathname: string): PublicFile | "nothing" | undefined {
  const brandingMatch = brandingPath.exec(pathname)
  const person = brandingMatch ? null : avatarPath.exec(pathname)
  const [, owner = "", ...rest] = brandingMatch ?? person ?? []
  const name = rest.at(-1)
  const type = name === undefined ? undefined : typeOf(name)
  if (name === undefined || type === undefined) return undefined
  const bytes = brandingMatch
    ? brandingFile(cx, decodeSegment(owner), name)
    : findAvatarFile(cx, owner, rest)
  return bytes ? { bytes, type: mediaTypes[type], etag: `"${name}"` } : "nothing"
}

/** The instance and an organization can have the same ID, but files never have the same name. */
const brandingFile = (cx: Cx, owner: string, name: string) =>
  (owner === cx.instance ? findBrandingFile(cx, undefined, name) : undefined) ??
  findBrandingFile(cx, owner, name)

function findAvatarFile(cx: Cx, owner: string, [id = "", name = ""]: readonly string[]) {
  const userId = decodeSegment(id)
  const isTheirs = cx.store.receipt(cx, user, userId)?.owner === decodeSegment(owner)
  return isTheirs ? findAvatar(cx, userId, name)?.bytes : undefined
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ""
  }
}
