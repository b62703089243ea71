import { inOrder, type Piece, pieceOf } from "../../../src/protocol/transfer/order.ts"

type InFile = { readonly pieces: readonly Piece[]; readonly unread: readonly number[] }

/**
 * The organisations of a file: lines of JSON, as this page and `latchkey export` write them, or one
 * document, as the interface answers. `unread` are the numbers of lines that are neither.
 */
export function piecesIn(text: string): InFile {
  const whole = valueIn(text)
  if (whole !== undefined) {
    const found = listIn(whole)
    const pieces = found.flatMap(piecesOf)
    return pieces.length === found.length ? { pieces, unread: [] } : { pieces: [], unread: [1] }
  }
  const lines = text.split("\n").map((line, at) => [at + 1, line.trim()] as const)
  const read = lines
    .filter(([, line]) => line !== "")
    .map(([at, line]) => ({ at, pieces: piecesOf(valueIn(line)) }))
  return {
    pieces: read.flatMap(({ pieces }) => pieces),
    unread: read.filter(({ pieces }) => pieces.length === 0).map(({ at }) => at),
  }
}

/** One, or none where it names no organisation. */
function piecesOf(value: unknown): readonly Piece[] {
  const piece = pieceOf(value)
  return piece ? [piece] : []
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** `{"dataOrgs": {"orgs": […]}}`, `{"orgs": […]}`, or one organisation by itself. */
function listIn(value: unknown): readonly unknown[] {
  const { dataOrgs, orgs } = fieldsOf(value)
  const list = orgs ?? fieldsOf(dataOrgs).orgs
  return Array.isArray(list) ? list : [value]
}

type Room = { readonly bytes: number; readonly parts: number }

/** Below what one request may have: bytes, and the keys and elements of its JSON. */
const requestMost: Room = { bytes: 500_000, parts: 8000 }

const encoder = new TextEncoder()

/**
 * The same in as few parts as a request each can take, in the order in which a server takes it
 * over: no part needs what comes in a later one.
 */
export function partsOf(
  pieces: readonly Piece[],
  most: Room = requestMost,
): readonly (readonly Piece[])[] {
  const parts: Piece[][] = []
  let room = { bytes: 0, parts: 0 }
  for (const atom of inOrder(pieces).flatMap(atomsOf)) {
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
  return parts.map(joined)
}

/** One thing each; what is said of an organisation itself stays together. */
function atomsOf({ orgId, ...fields }: Piece): readonly Piece[] {
  const lists = Object.entries(fields).filter(([, value]) => Array.isArray(value))
  const single = Object.entries(fields).filter(([, value]) => !Array.isArray(value))
  return [
    ...(single.length > 0 ? [{ orgId, ...Object.fromEntries(single) }] : []),
    ...lists.flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((each) => ({ orgId, [name]: [each] })) : [],
    ),
  ]
}

/** What belongs to one organisation, together. */
function joined(atoms: readonly Piece[]): readonly Piece[] {
  const known = new Map<string, Record<string, unknown> & { readonly orgId: string }>()
  for (const { orgId, ...fields } of atoms) {
    const org = known.get(orgId) ?? { orgId }
    known.set(orgId, org)
    for (const [name, value] of Object.entries(fields)) {
      const before = org[name]
      if (Array.isArray(before) && Array.isArray(value)) before.push(...value)
      else org[name] = value
    }
  }
  return [...known.values()]
}
