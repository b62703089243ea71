import type { Random } from "./random.ts"
import { structural } from "./structure.ts"

/** What a mutation can draw from. */
export type Material = {
  readonly random: Random
  /** Words of the format. */
  readonly tokens: readonly string[]
  /** Another input, to take parts of. */
  readonly other: Buffer
}

/** Changes an input; undefined where it does not apply. */
export type Mutation = (input: Buffer, material: Material) => Buffer | undefined

/** Bytes of an input; larger ones only take longer. */
const lengthMax = 8192

/** Makes one to three changes, one after another. `own` are mutations that one target needs. */
export function mutated(input: Buffer, material: Material, own: readonly Mutation[] = []): Buffer {
  const { random } = material
  const sources = [plain, [structural], [structural], ...(own.length > 0 ? [own] : [])]
  const count = 1 + Math.min(random.below(3), random.below(3))
  let current = input
  for (let change = 0; change < count; change++) {
    // A mutation that does not apply makes room for another.
    for (let attempt = 0; attempt < 4; attempt++) {
      const next = random.pick(random.pick(sources))(current, material)
      if (!next) continue
      current = next.subarray(0, lengthMax)
      break
    }
  }
  return current
}

const replaced = (input: Buffer, from: number, to: number, by: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, from), by, input.subarray(to)])

/** A range of the input, short more often than long. */
function rangeIn(input: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.below(input.length + 1)
  const most = Math.min(input.length - from, 2 ** random.below(10))
  return [from, from + random.below(most + 1)]
}

const numbers = ["0", "-1", "1", "127", "255", "256", "65536", "2147483648", "1e999", "-0", "1.5"]

/** Characters that parsers, comparisons and normal forms disagree about. */
const letters = [
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

/** Invalid UTF-8: an overlong slash, half of a surrogate pair, a byte that never occurs. */
const brokenText = ["c0af", "eda080", "ff", "80", "f0808080"].map((hex) => Buffer.from(hex, "hex"))

const plain: readonly Mutation[] = [
  (input, { random }) => {
    if (input.length === 0) return undefined
    const changed = Buffer.from(input)
    const at = random.below(input.length)
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
    return changed
  },
  (input, { random }) => {
    const at = random.below(input.length + 1)
    return replaced(input, at, at, random.bytes(1 + random.below(4)))
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    return replaced(input, from, to, random.bytes(to - from))
  },
  (input, { random }) => replaced(input, ...rangeIn(input, random), Buffer.alloc(0)),
  (input, { random }) => input.subarray(0, random.below(input.length + 1)),
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const piece = input.subarray(from, to)
    const at = random.below(input.length + 1)
    return replaced(input, at, at, piece)
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const piece = input.subarray(from, to)
    const count = Math.min(2 ** random.below(12), Math.floor(lengthMax / (piece.length + 1)))
    return replaced(input, to, to, Buffer.concat(Array(count).fill(piece)))
  },
  (input, { random, other }) => {
    const [from, to] = rangeIn(other, random)
    return replaced(input, ...rangeIn(input, random), other.subarray(from, to))
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
    return replaced(input, from, isInserted ? from : to, Buffer.from(random.pick(tokens)))
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    const isInserted = random.below(2) === 0
    return replaced(input, from, isInserted ? from : to, Buffer.from(random.pick(letters)))
  },
  (input, { random }) => {
    const [from, to] = rangeIn(input, random)
    return replaced(input, from, to, random.pick(brokenText))
  },
  (input, { random }) => {
    const text = input.toString("latin1")
    const all = [...text.matchAll(/-?\d+(\.\d+)?/g)]
    if (all.length === 0) return undefined
    const one = random.pick(all)
    const by = Buffer.from(random.pick(numbers))
    return replaced(input, one.index, one.index + one[0].length, by)
  },
  (input, { random }) => {
    const at = random.below(input.length + 1)
    const letter = String.fromCharCode(input[at] ?? 0)
    const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
    return flipped === letter
      ? undefined
      : replaced(input, at, at + 1, Buffer.from(flipped, "latin1"))
  },
]
