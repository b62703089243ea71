// The API that clients rely on: scripts/check.ts compares the current .proto files with it and
// fails on breaking changes. After an intended breaking change, run `bun scripts/baseline.ts` and
// commit the file.
import { join } from "node:path"
import { root, run } from "./step.ts"

/** The compressed descriptors of the last released API. */
export const baseline = join(root, "proto", "baseline.binpb.gz")

/** Throws on breaking changes since the baseline, with file and line of each. */
export async function compareWithBaseline(): Promise<void> {
  const result = await run(["buf", "breaking", "proto", "--against", baseline])
  if (result.ok) return
  throw new Error(
    `${result.output}\nIf this change is intended, run bun scripts/baseline.ts and commit the ` +
      "result",
  )
}

if (import.meta.main) {
  const result = await run(["buf", "build", "proto", "--exclude-source-info", "-o", baseline])
  if (!result.ok) throw new Error(result.output)
}
