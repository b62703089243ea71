// What others build on: scripts/check.ts compares the book with it, and a change that breaks them
// fails. Run this when such a change is meant: `bun scripts/baseline.ts`, and commit the file.
import { join } from "node:path"
import { root, run } from "./step.ts"

/** The descriptors of the book as they were agreed on last, compressed. */
export const baseline = join(root, "proto", "baseline.binpb.gz")

/** Refuses, naming file and line, what would break who was built on the baseline. */
export async function compareWithBaseline(): Promise<void> {
  const ended = await run(["buf", "breaking", "proto", "--against", baseline])
  if (ended.ok) return
  throw new Error(`${ended.output}\nIf that is meant: bun scripts/baseline.ts, and commit it.`)
}

if (import.meta.main) {
  const ended = await run(["buf", "build", "proto", "--exclude-source-info", "-o", baseline])
  if (!ended.ok) throw new Error(ended.output)
}
