import { because, type Cause } from "./cause.ts"

/** One thing that was not as it should be; what is written here is shown, so never a secret. */
export type Finding = {
  /** A parameter, or a setting of the application. */
  readonly subject: string
  readonly received: string
  /** What is registered, or would have fitted. */
  readonly expected: readonly string[]
  /** What is most probably wrong, in a sentence. */
  readonly likelyCause?: string
  /** The same, for catalogues of other languages. */
  readonly likelyCauseKey?: Cause
}

/** Says something of a value that must not be shown. */
export const about = (subject: string, cause: Cause): Finding => ({
  subject,
  received: "",
  expected: [],
  ...because(subject, cause),
})

/** What was found; as a function where to find it is more than the check itself needed. */
export type Found = Finding | readonly Finding[] | (() => readonly Finding[])

/** The findings, found now where they are not yet. */
export const findingsOf = (found: Found = []): readonly Finding[] =>
  [typeof found === "function" ? found() : found].flat()

/** How a received text differs from the nearest that would have fitted. */
export type Difference = {
  readonly nearest: string
  /** So many characters are the same at the beginning of both, and at the end. */
  readonly sameStart: number
  readonly sameEnd: number
}

/**
 * The nearest of what was expected, with the characters that differ; undefined without any. It is
 * the one of which the fewest are left between what is the same: strangers send what is compared
 * here, by the hundred, so that it must cost no more than to read it.
 */
export function differenceOf({ received, expected }: Finding): Difference | undefined {
  if (received === "") return undefined
  const compared = expected.map((each) => comparedWith(each, received))
  return compared.toSorted((a, b) => left(a, received) - left(b, received))[0]
}

/** How many characters there are between what is the same. */
const left = ({ nearest, sameStart, sameEnd }: Difference, received: string): number =>
  nearest.length + received.length - 2 * (sameStart + sameEnd)

function comparedWith(nearest: string, received: string): Difference {
  const shorter = Math.min(nearest.length, received.length)
  let sameStart = 0
  while (sameStart < shorter && nearest[sameStart] === received[sameStart]) sameStart++
  let sameEnd = 0
  while (sameEnd < shorter - sameStart && nearest.at(-1 - sameEnd) === received.at(-1 - sameEnd)) {
    sameEnd++
  }
  return { nearest, sameStart, sameEnd }
}

/** What somebody who sends an address did wrong that is registered otherwise. */
export function findingOfAddress(
  subject: string,
  received: string,
  expected: readonly string[],
): Finding {
  const looked = received.slice(0, lookedAtMax)
  const cause =
    expected.length === 0
      ? "address.none"
      : mistakes.find(([forgiving]) => isNearly(forgiving, looked, expected))?.[1]
  return { subject, received, expected, ...(cause && because(subject, cause)) }
}

/** No address that is nearly right is longer. */
const lookedAtMax = 2000

type Forgiving = (address: string) => string

function isNearly(forgiving: Forgiving, received: string, expected: readonly string[]): boolean {
  const forgiven = forgiving(received)
  return expected.some((each) => forgiving(each) === forgiven)
}

/** What makes two addresses the same if it is looked away from, and how to say so. */
const mistakes: readonly (readonly [Forgiving, Cause])[] = [
  [(address) => address.trim(), "address.space"],
  [(address) => address.replace(/\/(?=$|\?)/, ""), "address.slash"],
  [(address) => address.toLowerCase(), "address.case"],
  [(address) => address.replace(/^https:/i, "http:"), "address.scheme"],
  [(address) => address.replace(/^(https?:\/\/[^/?:]+):\d+/i, "$1"), "address.port"],
  [
    (address) => address.replace(/^(https?:\/\/)(localhost|127\.0\.0\.1|\[::1\])/i, "$1self"),
    "address.local",
  ],
  [(address) => address.replace(/^(https?:\/\/)www\./i, "$1"), "address.www"],
  [(address) => decoded(address), "address.encoded"],
  [(address) => address.split("?")[0] ?? "", "address.query"],
  [(address) => address.split("#")[0] ?? "", "address.fragment"],
  [(address) => URL.parse(address)?.pathname ?? address, "address.host"],
  [(address) => URL.parse(address)?.origin ?? address, "address.path"],
]

function decoded(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    return address
  }
}
