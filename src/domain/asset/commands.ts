import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import {
  type LookFiles,
  label,
  labelPreview,
  lookFileOf,
  lookPaths,
  setLookFile,
} from "../policy/index.ts"
import { findAvatar, noPictureError, setAvatar } from "../user/index.ts"
import { findUser } from "../user-lookup/index.ts"
import { type File, fileName } from "./file.ts"
import { fontOf } from "./font.ts"
import { pictureApart } from "./picture.ts"
import { looksLikeSvg } from "./svg.ts"
import { svgApart } from "./svg-thread.ts"

/** `line`: with whom it waits for its turn; decoding is shared out by organization. */
type Read = (bytes: Uint8Array<ArrayBuffer>, line: string) => File | Promise<File>

/** What is taken for something: so many bytes, read so. */
type Kind = { readonly bytesMax: number; readonly read: Read }

const pictureBytesMax = 512 * 1024
const fontBytesMax = 1024 * 1024

/** A sign that is drawn, or a picture of at most so many pixels on each side. Mails take PNG. */
const signOf = (side: number): Kind => ({
  bytesMax: pictureBytesMax,
  read: (bytes, line) =>
    looksLikeSvg(bytes) ? svgApart(bytes, line) : pictureApart(bytes, { side, as: "png" }, line),
})

const kinds: Readonly<Record<keyof LookFiles, Kind>> = {
  logo: signOf(1024),
  logoDark: signOf(1024),
  icon: signOf(256),
  iconDark: signOf(256),
  font: { bytesMax: fontBytesMax, read: fontOf },
}

const avatar: Kind = {
  bytesMax: pictureBytesMax,
  read: (bytes, line) => pictureApart(bytes, { side: 512, as: "webp" }, line),
}

/** Takes a file for the look of an organisation, or of the instance where `place` is undefined. */
export async function uploadLookFile(
  cx: Cx,
  place: string | undefined,
  { kind, data }: { readonly kind: string; readonly data: Uint8Array },
): Promise<Receipt> {
  const field = fieldOf(kind)
  const file = await readAs(kinds[field], data, lineOf(cx, place))
  return setLookFile(cx, place, { field, name: fileName(file), bytes: file.bytes })
}

/** Takes a picture of a person. */
export async function uploadAvatar(cx: Cx, userId: string, data: Uint8Array): Promise<Receipt> {
  const file = await readAs(avatar, data, lineOf(cx, findUser(cx, userId).org))
  return setAvatar(cx, userId, { name: fileName(file), bytes: file.bytes })
}

/** What an address ends with that asks for what is not shown to everybody yet. */
const previewEnd = "/_preview"

/** The file of a look, or of the preview of it. */
export function downloadLookFile(cx: Cx, place: string | undefined, kind: string) {
  const isPreview = kind.endsWith(previewEnd)
  const field = fieldOf(isPreview ? kind.slice(0, -previewEnd.length) : kind)
  return lookFileOf(cx, place, { field, policy: isPreview ? labelPreview : label })
}

export function downloadAvatar(cx: Cx, userId: string) {
  const found = findAvatar(cx, userId)
  if (!found) throw noPictureError()
  return found
}

const lineOf = ({ instance }: Cx, orgId = "") => `${instance}/${orgId}`

async function readAs({ bytesMax, read }: Kind, data: Uint8Array, line: string): Promise<File> {
  if (data.length === 0) {
    throw new Fault("invalid_argument", "asset.empty", "the file is empty; choose another")
  }
  if (data.length > bytesMax) {
    const message = `the file is larger than ${bytesMax / 1024} kB; make it smaller`
    throw new Fault("invalid_argument", "asset.too_large", message)
  }
  const file = await read(new Uint8Array(data), line)
  if (file.bytes.length <= bytesMax) return file
  const message = `the picture takes more than ${bytesMax / 1024} kB as PNG; make it smaller`
  throw new Fault("invalid_argument", "asset.too_large", message)
}

function fieldOf(kind: string): keyof LookFiles {
  const field = Object.entries(lookPaths).find(([path]) => path === kind)?.[1]
  if (field) return field
  const known = Object.keys(lookPaths).join(", ")
  throw new Fault(
    "not_found",
    "asset.kind_unknown",
    `there are no files of this kind, but ${known}`,
  )
}
