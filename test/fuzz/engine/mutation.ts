import type { Random } from "./random.ts"
import { structural } from "./structure.ts"

/** The input of a mutation. */
export type MutationContext = {
  readonly random: Random
  /** Tokens of the format. */
  readonly tokens: readonly string[]
  /** Another input from which parts can be copied. */
  readonly other: Buffer
}

/** Changes an input; returns undefined if it does not apply. */
export type Mutation = (input: Buffer, material: MutationContext) => Buffer | undefined

/** The maximum size of an input in bytes; larger ones only take longer. */
const lengthMax = 8192

/** Makes one to three consecutive changes. `own` are target-specific mutations. */
export function mutate(
  input: Buffer,
  material: MutationContext,
  own: readonly Mutation[] = [],
): Buffer {
  const { random } = material
  const sources = [genericMutations, [structural], [structural], ...(own.length > 0 ? [own] : [])]
  const count = 1 + Math.min(random.below(3), random.below(3))
  let current = input
  for (let change = 0; change < count; change++) {
    // Tries another mutation if one does not apply.
    for (let attempt = 0; attempt < 4; attempt++) {
      const next = random.pick(random.pick(sources))(current, material)
      if (!next) continue
      current = next.subarray(0, lengthMax)
      break
    }
  }
  return current
}

const replaceRange = (input: Buffer, from: number, to: number, by: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, from), by, input.subarray(to)])

/** A range of the input, more often short than long. */
function rangeIn(input: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.below(input.length + 1)
  const most = Math.min(input.length - from, 2 ** random.below(10))
  return [from, from + random.below(most + 1)]
}

const boundaryNumbers = [
  "0",
  "-1",
  "1",
  "127",
  "255",
  "256",
  "65536",
  "2147483648",
  "1e999",
  "-0",
  "1.5",
]

/** Characters that parsers, comparisons, and normalization treat differently. */
const specialCharacters = [
  "\0",
  "\t",
  "\r\n",
  "\n",
  "\r",
  " ",
  "\u00a0",
  "\u0085",
  "\u2028",
  "\ufeff",
  "\u200b",
  "\u202e",
  "\u0301",
  "é",
  "e\u0301",
  "ß",
  "İ",
  "ſ",
  "K",
  "ａ",
  "аpp",
  "🦊",
  "。",
  "\\",
  "%00",
  '"',
  "'",
  "<",
  ">",
  "&",
  ";",
  ",",
  ".",
  "..",
  "/",
  "//",
  "@",
  "#",
  "?",
  "%",
  "+",
  "=",
  "*",
]

/** Invalid UTF-8: an overlong slash, a lone surrogate, an unused byte. */
const invalidUtf8 = ["c0af", "eda080", "ff", "80", "f0808080"].map((hex) => Buffer.from(hex, "hex"))

const genericMutations: readonly Mutation[] = [
  (input, { random }) => {
    if (input.length === 0) return undefined
    const changed = Buffer.from(input)
    const at = random.below(input.length)
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
    return changed
  },
  (input, { random }) => {
    const at = random.below(input.length + 1)
    return replaceRange(input, at, at, random.bytes(1 + random.below(4)))
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    return replaceRange(input, from, to, random.bytes(to - from))
  },
  (input, { random }) => replaceRange(input, ...rangeIn(input, random), Buffer.alloc(0)),
  (input, { random }) => input.subarray(0, random.below(input.length + 1)),
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const piece = input.subarray(from, to)
    const at = random.below(input.length + 1)
    return replaceRange(input, at, at, piece)
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const piece = input.subarray(from, to)
    const count = Math.min(2 ** random.below(12), Math.floor(lengthMax / (piece.length + 1)))
    return replaceRange(input, to, to, Buffer.concat(Array(count).fill(piece)))
  },
  (input, { random, other }) => {
    const [from, to] = rangeIn(other, random)
    return replaceRange(input, ...rangeIn(input, random), other.subarray(from, to))
  },
  (input, { random, other }) =>
    Buffer.concat([
      input.subarray(0, random.below(input.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]),
  (input, { random, tokens }) => {
    if (tokens.length === 0) return undefined
    const [from, to] = rangeIn(input, random)
    const isInserted = random.below(2) === 0
    return replaceRange(input, from, isInserted ? from : to, Buffer.from(random.pick(tokens)))
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const isInserted = random.below(2) === 0
    return replaceRange(
      input,
      from,
      isInserted ? from : to,
      Buffer.from(random.pick(specialCharacters)),
    )
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    return replaceRange(input, from, to, random.pick(invalidUtf8))
  },
  (input, { random }) => {
    const text = input.toString("latin1")
    const all = [...text.matchAll(/-?\d+(\.\d+)?/g)]
    if (all.length === 0) return undefined
    const one = random.pick(all)
    const by = Buffer.from(random.pick(boundaryNumbers))
    return replaceRange(input, one.index, one.index + one[0].length, by)
  },
  (input, { random }) => {
    const at = random.below(input.length + 1)
    const letter = String.fromCharCode(input[at] ?? 0)
    const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
    return flipped === letter
      ? undefined
      : replaceRange(input, at, at + 1, Buffer.from(flipped, "latin1"))
  },
]
