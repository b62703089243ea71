import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { writeComments } from "./comments.ts"
import { filesBelow, fingerprint, isFresh, root, run, timed } from "./step.ts"

const mark = "src/gen/.made-from"
const inputs = ["proto", "package-lock.json", "scripts/comments.ts"]

/** Everything that type checks and tests need: generated code, bundled pages, API documents. */
export async function prepare(): Promise<void> {
  await generate()
  const { buildUi } = await import("../ui/build.ts")
  const files = await timed("Bundling the pages", buildUi)
  // Only now: it reads what has just been generated.
  const { writeOpenApi } = await import("./openapi.ts")
  await timed("Describing the API", () => writeOpenApi(files))
}

/** Makes src/gen from proto/, unless it was made from exactly this proto/ already. */
async function generate(): Promise<void> {
  if (isFresh(mark, inputs)) return
  const made = fingerprint(inputs)
  const ended = await timed("Generating code from proto/", () =>
    run(["buf", "generate"], { cwd: join(root, "proto") }),
  )
  if (!ended.ok) throw new Error(`buf generate failed:\n${ended.output}`)
  removeOrphans()
  writeComments()
  writeFileSync(join(root, mark), made)
}

/** A renamed or deleted .proto must not live on as code that still compiles. */
function removeOrphans(): void {
  const generated = join(root, "src/gen")
  for (const path of filesBelow(generated).filter((file) => file.endsWith("_pb.ts"))) {
    const source = relative(generated, path).replace(/_pb\.ts$/, ".proto")
    if (!existsSync(join(root, "proto", source))) rmSync(path)
  }
}

if (import.meta.main) await prepare()
