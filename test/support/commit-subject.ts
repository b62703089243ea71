/** Verbs whose imperative ends like a third person or a past tense. */
const imperatives: ReadonlySet<string> = new Set([
  "access",
  "address",
  "bypass",
  "compress",
  "discuss",
  "embed",
  "exceed",
  "express",
  "feed",
  "focus",
  "need",
  "pass",
  "press",
  "process",
  "seed",
  "shed",
  "speed",
  "succeed",
  "suppress",
])

const longestSubject = 90

/**
 * What is wrong with the subject of a commit, `area: imperative, exact`; undefined if nothing is.
 * The area is one folder or document; the verb is lowercase and in the imperative.
 */
export function subjectProblem(subject: string): string | undefined {
  const problem = (text: string) => `${JSON.stringify(subject)}: ${text}`
  const [, area, verb, rest] = /^([a-z0-9./-]+): (\S+)(?: (.+))?$/.exec(subject) ?? []
  if (!area || !verb) return problem("write `area: imperative, exact`, with one area")
  if (area === "wip" || area === "fixup") return problem("squash work in progress")
  if (!/^[a-z][a-z-]*$/.test(verb)) return problem("begin with a lowercase verb")
  if (/(ed|[^s]s|ing)$/.test(verb) && !imperatives.has(verb) && verb !== "bring") {
    return problem(`"${verb}" is not an imperative`)
  }
  if (!rest) return problem("say what is changed")
  if (subject.endsWith(".")) return problem("end without a period")
  return [...subject].length > longestSubject
    ? problem(`use at most ${longestSubject} characters`)
    : undefined
}
