import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import {
  type BrandingFiles,
  brandingPaths,
  findOwnOrInstanceFile,
  label,
  labelPreview,
  setBrandingFile,
} from "../policy/index.ts"
import { avatarNotFoundError, findAvatar, setAvatar } from "../user/index.ts"
import { requireUserRow } from "../user-lookup/index.ts"
import { type AssetFile, fileName } from "./file.ts"
import { parseFont } from "./font.ts"
import { decodeInProcess } from "./picture.ts"
import { looksLikeSvg } from "./svg.ts"
import { parseSvgInThread } from "./svg-thread.ts"

/** `line`: the queue; decoding is scheduled per organization. */
type FileParser = (bytes: Uint8Array<ArrayBuffer>, queue: string) => AssetFile | Promise<AssetFile>

/** The limits of a kind of file: its maximum size and its parser. */
type FileKind = { readonly bytesMax: number; readonly read: FileParser }

const pictureBytesMax = 512 * 1024
const fontBytesMax = 1024 * 1024

/** An SVG, or a picture with at most this many pixels on each side. Emails require PNG. */
const logoKind = (side: number): FileKind => ({
  bytesMax: pictureBytesMax,
  read: (bytes, queue) =>
    looksLikeSvg(bytes)
      ? parseSvgInThread(bytes, queue)
      : decodeInProcess(bytes, { side, as: "png" }, queue),
})

const fileKinds: Readonly<Record<keyof BrandingFiles, FileKind>> = {
  logo: logoKind(1024),
  logoDark: logoKind(1024),
  icon: logoKind(256),
  iconDark: logoKind(256),
  font: { bytesMax: fontBytesMax, read: parseFont },
}

const avatarKind: FileKind = {
  bytesMax: pictureBytesMax,
  read: (bytes, queue) => decodeInProcess(bytes, { side: 512, as: "webp" }, queue),
}

/** Uploads a branding file of an organization, or of the instance if `place` is undefined. */
export async function uploadLookFile(
  cx: Cx,
  owner: string | undefined,
  { kind, data }: { readonly kind: string; readonly data: Uint8Array },
): Promise<Receipt> {
  const field = parseKind(kind)
  const file = await parseFile(fileKinds[field], data, queueOf(cx, owner))
  return setBrandingFile(cx, owner, { field, name: fileName(file), bytes: file.bytes })
}

/** Uploads the avatar of a user. */
export async function uploadAvatar(cx: Cx, userId: string, data: Uint8Array): Promise<Receipt> {
  const file = await parseFile(avatarKind, data, queueOf(cx, requireUserRow(cx, userId).org))
  return setAvatar(cx, userId, { name: fileName(file), bytes: file.bytes })
}

/** The suffix of the kind for the preview, which is not published yet. */
const previewSuffix = "/_preview"

/** The file of the branding or of its preview. */
export function downloadLookFile(cx: Cx, owner: string | undefined, kind: string) {
  const isPreview = kind.endsWith(previewSuffix)
  const field = parseKind(isPreview ? kind.slice(0, -previewSuffix.length) : kind)
  return findOwnOrInstanceFile(cx, owner, { field, policy: isPreview ? labelPreview : label })
}

export function downloadAvatar(cx: Cx, userId: string) {
  const found = findAvatar(cx, userId)
  if (!found) throw avatarNotFoundError()
  return found
}

const queueOf = ({ instance }: Cx, orgId = "") => `${instance}/${orgId}`

async function parseFile(
  { bytesMax, read }: FileKind,
  data: Uint8Array,
  queue: string,
): Promise<AssetFile> {
  if (data.length === 0) {
    throw new Fault("invalid_argument", "asset.empty", "the file is empty; choose another")
  }
  if (data.length > bytesMax) {
    const message = `the file must be at most ${bytesMax / 1024} kB`
    throw new Fault("invalid_argument", "asset.too_large", message)
  }
  const file = await read(new Uint8Array(data), queue)
  if (file.bytes.length <= bytesMax) return file
  const message = `the picture must be at most ${bytesMax / 1024} kB as PNG; make it smaller`
  throw new Fault("invalid_argument", "asset.too_large", message)
}

function parseKind(kind: string): keyof BrandingFiles {
  const field = Object.entries(brandingPaths).find(([path]) => path === kind)?.[1]
  if (field) return field
  const known = Object.keys(brandingPaths).join(", ")
  throw new Fault("not_found", "asset.kind_unknown", `the kind of file must be one of: ${known}`)
}
