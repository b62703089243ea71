import { createHash } from "node:crypto"

/** What files may be, by how their names end. */
export const types = {
  png: "image/png",
  webp: "image/webp",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  woff: "font/woff",
  ttf: "font/ttf",
  otf: "font/otf",
} as const

export type FileType = keyof typeof types

/** A file that was read, and is as we would have written it. */
export type File = { readonly type: FileType; readonly bytes: Uint8Array<ArrayBuffer> }

/**
 * The name of a file, which is what it is: who knows it may keep what is under it for good, and
 * nobody finds another by counting.
 */
export const fileName = ({ type, bytes }: File): string =>
  `${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}.${type}`

/** The type of a file by its name; undefined for what is no name of ours. */
export function typeOf(name: string): FileType | undefined {
  const [, ending = ""] = /^[\w-]{22}\.([a-z0-9]+)$/.exec(name) ?? []
  return isType(ending) ? ending : undefined
}

const isType = (ending: string): ending is FileType => Object.hasOwn(types, ending)
