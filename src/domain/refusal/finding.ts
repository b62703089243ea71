import { type Cause, likelyCauseOf } from "./cause.ts"

/** One problem in a request. It is displayed, so it must not contain secrets. */
export type Finding = {
  /** A parameter, or a setting of the application. */
  readonly subject: string
  readonly received: string
  /** The registered or accepted values. */
  readonly expected: readonly string[]
  /** The likely cause as a sentence. */
  readonly likelyCause?: string
  /** The likely cause as a key for translations. */
  readonly likelyCauseKey?: Cause
}

/** A finding about a value that must not be shown. */
export const findingWithoutValue = (subject: string, cause: Cause): Finding => ({
  subject,
  received: "",
  expected: [],
  ...likelyCauseOf(subject, cause),
})

/** Findings, or a function if finding them costs more than the check. */
export type FindingSource = Finding | readonly Finding[] | (() => readonly Finding[])

/** Evaluates the findings. */
export const findingsOf = (source: FindingSource = []): readonly Finding[] =>
  [typeof source === "function" ? source() : source].flat()

/** The difference between a received text and the nearest expected one. */
export type Difference = {
  readonly nearest: string
  /** Number of common characters at the beginning and the end. */
  readonly sameStart: number
  readonly sameEnd: number
}

/**
 * The nearest expected text: the one with the fewest characters between the common start and end.
 * Returns undefined if none is expected. Linear time, because strangers control the input.
 */
export function differenceOf({ received, expected }: Finding): Difference | undefined {
  if (received === "") return undefined
  const compared = expected.map((each) => compareTexts(each, received))
  return compared.toSorted((a, b) => differingLength(a, received) - differingLength(b, received))[0]
}

/** Number of characters between the common start and end. */
const differingLength = ({ nearest, sameStart, sameEnd }: Difference, received: string): number =>
  nearest.length + received.length - 2 * (sameStart + sameEnd)

function compareTexts(nearest: string, received: string): Difference {
  const shorter = Math.min(nearest.length, received.length)
  let sameStart = 0
  while (sameStart < shorter && nearest[sameStart] === received[sameStart]) sameStart++
  let sameEnd = 0
  while (sameEnd < shorter - sameStart && nearest.at(-1 - sameEnd) === received.at(-1 - sameEnd)) {
    sameEnd++
  }
  return { nearest, sameStart, sameEnd }
}

/** A finding about a URI that is not among the registered ones, with its likely cause. */
export function findingOfUri(
  subject: string,
  received: string,
  expected: readonly string[],
): Finding {
  const looked = received.slice(0, comparedLengthMax)
  const cause =
    expected.length === 0
      ? "address.none"
      : mistakes.find(([forgiving]) => matchesNormalized(forgiving, looked, expected))?.[1]
  return { subject, received, expected, ...(cause && likelyCauseOf(subject, cause)) }
}

/** Longer addresses are not compared. */
const comparedLengthMax = 2000

type Normalize = (address: string) => string

function matchesNormalized(
  forgiving: Normalize,
  received: string,
  expected: readonly string[],
): boolean {
  const forgiven = forgiving(received)
  return expected.some((each) => forgiving(each) === forgiven)
}

/** Normalizations under which two addresses become equal, with the cause to report. */
const mistakes: readonly (readonly [Normalize, Cause])[] = [
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
  [(address) => decodeUri(address), "address.encoded"],
  [(address) => address.split("?")[0] ?? "", "address.query"],
  [(address) => address.split("#")[0] ?? "", "address.fragment"],
  [(address) => URL.parse(address)?.pathname ?? address, "address.host"],
  [(address) => URL.parse(address)?.origin ?? address, "address.path"],
]

function decodeUri(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    return address
  }
}
