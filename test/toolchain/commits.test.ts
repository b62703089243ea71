import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, test } from "vitest"
import { subjectProblem } from "../support/commit-subject.ts"

const root = join(import.meta.dirname, "../..")

/** The last commit that was made before subjects were checked. */
const firstUnchecked = "c56630569c08a64d6c12c4fdb861259095f9a2b3"

/** Subjects of the commits since the last release; none where there is no repository. */
function subjectsSinceRelease(): readonly string[] {
  const git = (...args: string[]) =>
    spawnSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 10_000_000 })
  const tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
  const start = tag.status === 0 ? tag.stdout.trim() : firstUnchecked
  const log = git("log", "--no-merges", "--format=%s", `${start}..HEAD`)
  return log.status === 0 ? log.stdout.split("\n").filter(Boolean) : []
}

test("commit subjects since the last release name an area and an imperative", () => {
  const problems = subjectsSinceRelease().flatMap((subject) => subjectProblem(subject) ?? [])
  expect(problems).toEqual([])
})

test.each([
  "Let no clock that was ahead stop backups",
  "oauth, login: reject codes of another client",
  "oauth: Reject a code of another client",
  "oauth: reject a code of another client.",
  "oauth: rejects a code of another client",
  "oauth: rejected a code of another client",
  "oauth:reject a code of another client",
  "oauth: fix",
  "wip: texts",
])("rejects %j", (subject) => expect(subjectProblem(subject)).toBeDefined())

test.each([
  "oauth: reject a code redeemed by another client",
  "test/e2e: wait for the page before looking at it",
  "user-lookup: attach the history of users to their aggregate",
  "process: address requests by their ID",
])("accepts %j", (subject) => expect(subjectProblem(subject)).toBeUndefined())
