/**
 * Other spellings of a token, each with its kind: cut, lengthened, in other case, padded, and with
 * other unused bits of base64url.
 */
export function listSpellings(text: string): readonly (readonly [how: string, spelling: string])[] {
  const all = [
    ...cutSpellings(text),
    ...lengthenedSpellings(text),
    ...flippedSpellings(text),
    ...encodedSpellings(text),
  ]
  return all.filter(([, spelling]) => spelling !== text && spelling !== "")
}

type Spelling = readonly [how: string, spelling: string]

/** Cut to every length of a group of four, from both ends, and part by part. */
function cutSpellings(text: string): readonly Spelling[] {
  const half = Math.floor(text.length / 2)
  const lengths = [1, 2, 3, 4, 5, 8, 16, half, half + 1, half + 2, half + 3, text.length - 1]
  const parts = text.split(".")
  return [
    ...lengths.map((by): Spelling => [`without its last ${by}`, text.slice(0, -by)]),
    ...[1, 2, 3, 4].map((by): Spelling => [`without its first ${by}`, text.slice(by)]),
    ["without one in the middle", text.slice(0, half) + text.slice(half + 1)],
    ...parts.flatMap((_, at): Spelling[] => [
      [`without part ${at}`, parts.filter((_, other) => other !== at).join(".")],
      [`with part ${at} empty`, parts.map((part, other) => (other === at ? "" : part)).join(".")],
    ]),
  ]
}

function lengthenedSpellings(text: string): readonly Spelling[] {
  const more = ["A", "AA", "AAA", "AAAA", "=", "==", ".", ".A", "~", "%00", "-", "_"]
  const parts = text.split(".")
  return [
    ...more.map((end): Spelling => [`with ${end} behind`, text + end]),
    ...["A", "AAAA", "."].map((begin): Spelling => [`with ${begin} in front`, begin + text]),
    ["twice", text + text],
    ["twice, with a dot", `${text}.${text}`],
    ...parts.map((part, at): Spelling => {
      const longer = parts.map((each, other) => (other === at ? `${part}AAAA` : each))
      return [`with part ${at} longer`, longer.join(".")]
    }),
  ]
}

/** Letters in the other case, one by one in many positions, and all of them. */
function flippedSpellings(text: string): readonly Spelling[] {
  const flippedLetters = [...text.matchAll(/[a-z]/gi)].map(({ index }) => index)
  const step = Math.max(1, Math.floor(flippedLetters.length / maxPositions))
  const some = flippedLetters.filter((_, at) => at % step === 0 || at === flippedLetters.length - 1)
  return [
    ...some.map((at): Spelling => [`with letter ${at} in other case`, flipAt(text, at)]),
    ["in capitals", text.toUpperCase()],
    ["in small letters", text.toLowerCase()],
  ]
}

const maxPositions = 24

function flipAt(text: string, at: number): string {
  const letter = text[at] ?? ""
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  return text.slice(0, at) + other + text.slice(at + 1)
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Other texts for the same bytes: padding, the other alphabet, and unused bits. */
function encodedSpellings(text: string): readonly Spelling[] {
  const parts = text.split(".")
  const each = (kind: string, change: (part: string) => string): Spelling[] =>
    parts.map((part, at) => [
      `with part ${at} ${kind}`,
      parts.map((other, where) => (where === at ? change(part) : other)).join("."),
    ])
  return [
    ...each("padded", (part) => part + "=".repeat((4 - (part.length % 4)) % 4)),
    ...each("padded once more", (part) => `${part}=`),
    ...each("in the other alphabet", (part) => part.replaceAll("-", "+").replaceAll("_", "/")),
    ...[1, 2, 3].flatMap((bits) =>
      each(`with spare bits ${bits}`, (part) => setUnusedBits(part, bits)),
    ),
  ]
}

/** RFC 4648 §3.5: the last character may have two or four bits that decoders often ignore. */
function setUnusedBits(part: string, bits: number): string {
  const free = { 2: 15, 3: 3 }[part.length % 4] ?? 0
  const last = alphabet.indexOf(part.at(-1) ?? "")
  if (free === 0 || last < 0) return part
  return part.slice(0, -1) + (alphabet[last ^ (bits & free)] ?? "")
}
