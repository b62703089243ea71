import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { writeComments } from "./comments.ts"
import { filesBelow, fingerprint, matchesFingerprint, root, run, runTimed } from "./step.ts"

const markFile = "src/gen/.made-from"
const inputs = ["proto", "package-lock.json", "scripts/comments.ts"]

/**
 * Prepares everything that type checks and tests need: generated code, bundled pages, API
 * documents.
 */
export async function prepare(): Promise<void> {
  await generate()
  const { buildUi } = await import("../ui/build.ts")
  const files = await runTimed("Bundling the pages", buildUi)
  // Imported late, because it reads the code generated above.
  const { writeOpenApi } = await import("./openapi.ts")
  await runTimed("Generating the API documents", () => writeOpenApi(files))
}

/** Generates src/gen from proto/, unless it is up to date. */
async function generate(): Promise<void> {
  if (matchesFingerprint(markFile, inputs)) return
  const isUpToDate = fingerprint(inputs)
  const result = await runTimed("Generating code from proto/", () =>
    run(["buf", "generate"], { cwd: join(root, "proto") }),
  )
  if (!result.ok) throw new Error(`buf generate failed:\n${result.output}`)
  removeOrphans()
  writeComments()
  writeFileSync(join(root, markFile), isUpToDate)
}

/** Otherwise code of a renamed or deleted .proto would remain and still compile. */
function removeOrphans(): void {
  const generated = join(root, "src/gen")
  for (const path of filesBelow(generated).filter((file) => file.endsWith("_pb.ts"))) {
    const source = relative(generated, path).replace(/_pb\.ts$/, ".proto")
    if (!existsSync(join(root, "proto", source))) rmSync(path)
  }
}

if (import.meta.main) await prepare()
