import type { Cx } from "../../store/index.ts"
import { findLookFile } from "../policy/index.ts"
import { findAvatar } from "../user/index.ts"
import { user } from "../user-model/index.ts"
import { typeOf, types } from "./file.ts"

/** A file that everybody may have. */
export type PublicFile = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
  /** Changes with the content; within quotes, as headers have it. */
  readonly etag: string
}

const lookAt = /^\/assets\/v1\/([^/]+)\/policy\/label\/([\w-]{22}\.[a-z0-9]+)$/
const avatarAt = /^\/assets\/v1\/([^/]+)\/users\/([^/]+)\/avatar\/([\w-]{22}\.[a-z0-9]+)$/

/** Whether a path is that of a file; "nothing" where there is none that everybody may have. */
export function publicFile(cx: Cx, pathname: string): PublicFile | "nothing" | undefined {
  const look = lookAt.exec(pathname)
  const person = look ? null : avatarAt.exec(pathname)
  const [, owner = "", ...rest] = look ?? person ?? []
  const name = rest.at(-1)
  const type = name === undefined ? undefined : typeOf(name)
  if (name === undefined || type === undefined) return undefined
  const bytes = look ? lookFile(cx, decoded(owner), name) : avatarFile(cx, owner, rest)
  return bytes ? { bytes, type: types[type], etag: `"${name}"` } : "nothing"
}

/** The instance and an organisation may have the same id: names are not what two files share. */
const lookFile = (cx: Cx, owner: string, name: string) =>
  (owner === cx.instance ? findLookFile(cx, undefined, name) : undefined) ??
  findLookFile(cx, owner, name)

function avatarFile(cx: Cx, owner: string, [id = "", name = ""]: readonly string[]) {
  const userId = decoded(id)
  const isTheirs = cx.store.receipt(cx, user, userId)?.owner === decoded(owner)
  return isTheirs ? findAvatar(cx, userId, name)?.bytes : undefined
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ""
  }
}
