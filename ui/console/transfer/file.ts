import {
  type OrganizationPiece,
  sortPieces,
  toPiece,
} from "../../../src/protocol/transfer/order.ts"

type ParsedFile = {
  readonly pieces: readonly OrganizationPiece[]
  readonly invalidLines: readonly number[]
}

/**
 * Organizations in a file: JSON lines, as written by this page and `latchkey export`, or one JSON
 * document, as returned by the API. `invalidLines` are the numbers of lines that are neither.
 */
export function parseFile(text: string): ParsedFile {
  const whole = parseJson(text)
  if (whole !== undefined) {
    const found = findOrganizations(whole)
    const pieces = found.flatMap(parsePieces)
    return pieces.length === found.length
      ? { pieces, invalidLines: [] }
      : { pieces: [], invalidLines: [1] }
  }
  const lines = text.split("\n").map((line, at) => [at + 1, line.trim()] as const)
  const read = lines
    .filter(([, line]) => line !== "")
    .map(([at, line]) => ({ at, pieces: parsePieces(parseJson(line)) }))
  return {
    pieces: read.flatMap(({ pieces }) => pieces),
    invalidLines: read.filter(({ pieces }) => pieces.length === 0).map(({ at }) => at),
  }
}

/** One organization, or none if the value contains no ID. */
function parsePieces(value: unknown): readonly OrganizationPiece[] {
  const piece = toPiece(value)
  return piece ? [piece] : []
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

const toFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** `{"dataOrgs": {"orgs": […]}}`, `{"orgs": […]}`, or a single organization. */
function findOrganizations(value: unknown): readonly unknown[] {
  const { dataOrgs, orgs } = toFields(value)
  const list = orgs ?? toFields(dataOrgs).orgs
  return Array.isArray(list) ? list : [value]
}

type SizeLimit = { readonly bytes: number; readonly parts: number }

/** Limits per request with a margin: bytes, and JSON keys and elements. */
const requestLimit: SizeLimit = { bytes: 500_000, parts: 8000 }

const encoder = new TextEncoder()

/**
 * Splits organizations into requests within the limits, in import order: no request needs data of a
 * later one.
 */
export function splitIntoRequests(
  pieces: readonly OrganizationPiece[],
  most: SizeLimit = requestLimit,
): readonly (readonly OrganizationPiece[])[] {
  const parts: OrganizationPiece[][] = []
  let room = { bytes: 0, parts: 0 }
  for (const atom of sortPieces(pieces).flatMap(splitIntoItems)) {
    const text = JSON.stringify(atom)
    const size = {
      bytes: encoder.encode(text).length,
      parts: (text.match(/[,:{[]/g) ?? []).length,
    }
    const last = parts.at(-1)
    const isFull = size.bytes > room.bytes || size.parts > room.parts
    if (last && !isFull) last.push(atom)
    else parts.push([atom])
    const before = last && !isFull ? room : most
    room = { bytes: before.bytes - size.bytes, parts: before.parts - size.parts }
  }
  return parts.map(mergeByOrganization)
}

/** Single items; fields of the organization itself stay together. */
function splitIntoItems({ orgId, ...fields }: OrganizationPiece): readonly OrganizationPiece[] {
  const lists = Object.entries(fields).filter(([, value]) => Array.isArray(value))
  const single = Object.entries(fields).filter(([, value]) => !Array.isArray(value))
  return [
    ...(single.length > 0 ? [{ orgId, ...Object.fromEntries(single) }] : []),
    ...lists.flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((each) => ({ orgId, [name]: [each] })) : [],
    ),
  ]
}

/** Merges items of the same organization. */
function mergeByOrganization(atoms: readonly OrganizationPiece[]): readonly OrganizationPiece[] {
  const byOrganization = new Map<string, Record<string, unknown> & { readonly orgId: string }>()
  for (const { orgId, ...fields } of atoms) {
    const org = byOrganization.get(orgId) ?? { orgId }
    byOrganization.set(orgId, org)
    for (const [name, value] of Object.entries(fields)) {
      const before = org[name]
      if (Array.isArray(before) && Array.isArray(value)) before.push(...value)
      else org[name] = value
    }
  }
  return [...byOrganization.values()]
}
