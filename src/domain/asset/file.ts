import { createHash } from "node:crypto"

/** File types by file name extension. */
export const mediaTypes = {
  png: "image/png",
  webp: "image/webp",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  woff: "font/woff",
  ttf: "font/ttf",
  otf: "font/otf",
} as const

export type FileType = keyof typeof mediaTypes

/** A validated file, re-encoded by the server where possible. */
export type AssetFile = { readonly type: FileType; readonly bytes: Uint8Array<ArrayBuffer> }

/**
 * The name of a file, derived from its content. Files with a known name can be cached indefinitely,
 * and names can't be guessed.
 */
export const fileName = ({ type, bytes }: AssetFile): string =>
  `${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}.${type}`

/** The type of a file by its name; undefined if the name is not valid. */
export function typeOf(name: string): FileType | undefined {
  const [, ending = ""] = /^[\w-]{22}\.([a-z0-9]+)$/.exec(name) ?? []
  return isType(ending) ? ending : undefined
}

const isType = (ending: string): ending is FileType => Object.hasOwn(mediaTypes, ending)
