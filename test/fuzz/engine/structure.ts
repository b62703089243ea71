import type { Mutation } from "./mutation.ts"
import type { Random } from "./random.ts"

const textOf = (input: Buffer): string => input.toString("latin1")
const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1")

/** Replaces one match of a pattern, if any. */
function mutateMatch(
  pattern: RegExp,
  change: (match: RegExpExecArray, random: Random, tokens: readonly string[]) => string | undefined,
): Mutation {
  return (input, { random, tokens }) => {
    const text = textOf(input)
    const all = [...text.matchAll(pattern)]
    if (all.length === 0) return undefined
    const one = random.pick(all)
    const by = change(one, random, tokens)
    if (by === undefined) return undefined
    return bytesOf(text.slice(0, one.index) + by + text.slice(one.index + one[0].length))
  }
}

/** Mutates the decoded content of a base64 or base64url run and encodes it again. */
const mutateBase64: Mutation = (input, material) => {
  const { random } = material
  const change = mutateMatch(/[\w+/-]{8,}=*/g, ([run]) => {
    const alphabet = /[+/=]/.test(run) ? "base64" : "base64url"
    const bytes = Buffer.from(run, alphabet)
    const nested = random.below(3) === 0 ? mutateBase64 : random.pick(innerMutations)
    return nested(bytes, material)?.toString(alphabet)
  })
  return change(input, material)
}

const flipBit: Mutation = (input, { random }) => {
  const changed = Buffer.from(input)
  const at = random.below(input.length)
  changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  return changed
}

const dropBytes: Mutation = (input, { random }) => {
  const at = random.below(input.length)
  return Buffer.concat([input.subarray(0, at), input.subarray(at + 1 + random.below(8))])
}

const insertBytes: Mutation = (input, { random }) => {
  const at = random.below(input.length + 1)
  return Buffer.concat([
    input.subarray(0, at),
    random.bytes(1 + random.below(4)),
    input.subarray(at),
  ])
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const values: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  2 ** 53,
  1.5,
  "",
  "0",
  " ",
  "\ud800",
  "\0",
  [],
  {},
  [[]],
  [null],
  [""],
  { "": "" },
]

/** Names that every object inherits. */
const inheritedNames = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "length",
]

/** Mutates one value or name of a JSON document. */
const mutateJson: Mutation = (input, { random, tokens }) => {
  const json = parseJson(input.toString())
  if (typeof json !== "object" || json === null) return undefined
  const [parent, name] = random.pick(membersIn(json))
  changeMember(parent, name, random, tokens)
  return Buffer.from(JSON.stringify(json))
}

type JsonMember = readonly [parent: { [name: string]: Json }, name: string]

function membersIn(json: object): readonly JsonMember[] {
  const found: JsonMember[] = []
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== "object" || value === null || depth > 20) return
    const parent = value as { [name: string]: Json }
    for (const name of Object.keys(parent)) {
      found.push([parent, name])
      visit(parent[name], depth + 1)
    }
  }
  visit(json, 0)
  // A name that the document does not contain yet.
  return [...found, [json as { [name: string]: Json }, "added"]]
}

function changeMember(
  parent: { [name: string]: Json },
  name: string,
  random: Random,
  tokens: readonly string[],
): void {
  const value = parent[name] ?? null
  // JSON.stringify serializes only the elements of a list.
  const isWritten = (key: string) => !Array.isArray(parent) || /^\d+$/.test(key)
  const set = (key: string, to: Json) => {
    if (!isWritten(key)) return
    Object.defineProperty(parent, key, {
      value: to,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  const changes = [
    () => void delete parent[name],
    () => set(name, random.pick(values)),
    () => set(name, random.pick([...tokens, ...inheritedNames])),
    () => set(name, [value]),
    () => set(name, [value, value]),
    () => set(name, { [random.pick([...tokens, ...inheritedNames, name])]: value }),
    () => set(name, nestValue(value, 2 ** random.below(11))),
    () => set(random.pick([...tokens, ...inheritedNames, `${name} `]), value),
    () => set(name, typeof value === "string" ? value + random.pick([...tokens, " "]) : "text"),
    () => set(name, "a".repeat(2 ** random.below(13))),
  ]
  random.pick(changes)()
}

function nestValue(value: Json, depth: number): Json {
  let around: Json = value
  for (let level = 0; level < depth; level++) around = [around]
  return around
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A complete element without child elements, or one tag. */
const element = /<([\w:.-]+)(?:\s[^<>]*)?(?:\/>|>[^<]*<\/\1>)/g
const tag = /<\/?[\w:.-]+[^<>]*>/g
const attribute = /\s([\w:.-]+)\s*=\s*("[^"]*"|'[^']*')/g

const markupMutations: readonly Mutation[] = [
  mutateMatch(element, () => ""),
  mutateMatch(element, ([whole]) => whole + whole),
  mutateMatch(element, ([whole, name]) => `<${name}>${whole}</${name}>`),
  mutateMatch(element, ([whole], random, tokens) => `<${pickToken(random, tokens)}>${whole}</x>`),
  mutateMatch(tag, () => ""),
  mutateMatch(tag, ([whole]) => whole + whole),
  mutateMatch(tag, ([whole], random) => whole + random.pick(markup)),
  mutateMatch(attribute, () => ""),
  mutateMatch(attribute, ([whole, name]) => `${whole} ${name}2="x"`),
  mutateMatch(attribute, ([, name], random, tokens) => ` ${name}="${pickToken(random, tokens)}"`),
  mutateMatch(attribute, ([, name], random, tokens) => ` ${name}='${pickToken(random, tokens)}'`),
  mutateMatch(attribute, ([, , value], random, tokens) => ` ${pickToken(random, tokens)}=${value}`),
  mutateMatch(attribute, ([, , value], random, tokens) => ` ${pickToken(random, tokens)}=${value}`),
  (input, { random, other }) => {
    const [mine, theirs] = [textOf(input), textOf(other)]
    const [target, source] = [[...mine.matchAll(element)], [...theirs.matchAll(element)]]
    if (target.length === 0 || source.length === 0) return undefined
    const at = random.pick(target)
    const [moved] = random.pick(source)
    return bytesOf(mine.slice(0, at.index) + moved + mine.slice(at.index))
  },
]

const markup = [
  "<!-- -->",
  "<![CDATA[x]]>",
  "<?a b?>",
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  "&b;",
  "&lt;",
  "&#0;",
  "&#x10FFFF;",
  "&#xD800;",
  '<a xmlns="urn:a"/>',
  '<a xmlns:b="urn:b" b:c="d"/>',
]

const pickToken = (random: Random, tokens: readonly string[]): string =>
  tokens.length === 0 ? "x" : random.pick(tokens)

/** Repeats, removes, or swaps lines or other separated parts. */
const mutateParts =
  (separator: string): Mutation =>
  (input, { random, tokens }) => {
    const parts = textOf(input).split(separator)
    if (parts.length < 2) return undefined
    const [at, other] = [random.below(parts.length), random.below(parts.length)]
    const one = parts[at] ?? ""
    const changes = [
      () => parts.toSpliced(at, 1),
      () => parts.toSpliced(at, 0, one),
      () => parts.toSpliced(at, 1, parts[other] ?? "").toSpliced(other, 1, one),
      () => parts.toSpliced(at, 1, ""),
      () => parts.toSpliced(at, 1, pickToken(random, tokens)),
      () => parts.toSpliced(at, 0, ...Array(2 ** random.below(8)).fill(one)),
    ]
    return bytesOf(random.pick(changes)().join(separator))
  }

/** Words, numbers, and runs of punctuation. */
const words = /[\w-]+|[^\w\s]+/g

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.;,\"'<>/"

/** Changes, removes, or adds the first or the last character, where checks often fail. */
function mutateEdge(run: string, random: Random): string {
  const letter = random.pick([...alphabet])
  return random.pick([
    run.slice(0, -1),
    run.slice(0, -1) + letter,
    run + letter,
    run.slice(1),
    letter + run.slice(1),
  ])
}

const innerMutations: readonly Mutation[] = [
  flipBit,
  flipBit,
  dropBytes,
  insertBytes,
  mutateJson,
  mutateJson,
]

/** A format-aware mutation, applied only to inputs of that format. */
export const structural: Mutation = (input, material) => {
  const { random } = material
  const isMarkup = input.includes("</") || input.includes("/>")
  const list = isMarkup && random.below(2) === 0 ? markupMutations : textMutations
  return random.pick(list)(input, material)
}

const textMutations: readonly Mutation[] = [
  mutateBase64,
  mutateBase64,
  mutateBase64,
  mutateJson,
  mutateJson,
  mutateJson,
  ...["\n", ".", "&", ",", ";", " ", "/", "\r\n", ":"].map(mutateParts),
  ...[words, words].map((pattern) => mutateMatch(pattern, () => "")),
  ...[words, words].map((pattern) =>
    mutateMatch(pattern, ([run], random) => mutateEdge(run, random)),
  ),
  mutateMatch(words, (_, random, tokens) => pickToken(random, tokens)),
  mutateMatch(/[^\w\s.~-]+|\w+/g, ([run]) => encodeURIComponent(run)),
  mutateMatch(/%[\da-f]{2}/gi, ([code]) => decodedOr(code)),
  mutateMatch(/[\w.-]+/g, (_, random) => random.pick(inheritedNames)),
]

function decodedOr(code: string): string {
  try {
    return decodeURIComponent(code)
  } catch {
    return code
  }
}
