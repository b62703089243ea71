// Writes the OpenAPI documents of both API versions and the pages of their viewer, for embedding in
// the binary.
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Entry } from "../src/api/dispatch.ts"
import { nameOf } from "../src/api/method.ts"
import { connectOpenApiOf } from "../src/api/openapi/connect-document.ts"
import { openApiOf } from "../src/api/openapi/document.ts"
import { type ReaderFiles, renderReaderPage } from "../src/api/openapi/page.ts"
import { loadOperations } from "../src/server/modules.ts"
import { root } from "./step.ts"

const generatedFolder = join(root, "src/gen")

/** Every operation in the server's order, for documentation only. */
async function listEntries(): Promise<readonly Entry[]> {
  const call = () => Promise.reject(new Error("operations are only described here, not called"))
  return (await loadOperations()).map(({ method }) => ({ method, name: nameOf(method), call }))
}

/** Returns the documents and pages by path. */
export async function createOpenApiTexts(files: ReaderFiles): Promise<ReadonlyMap<string, string>> {
  const entries = await listEntries()
  const rest = await openApiOf(entries)
  const connect = connectOpenApiOf(entries)
  return new Map([
    ["/openapi", await renderReaderPage("/openapi/json", rest, files)],
    ["/openapi/json", JSON.stringify(rest)],
    ["/openapi/v2", await renderReaderPage("/openapi/v2/json", connect, files)],
    ["/openapi/v2/json", JSON.stringify(connect)],
  ])
}

/** Writes the compressed texts, and src/gen/openapi.ts, which embeds them in the server. */
export async function writeOpenApi(files: ReaderFiles): Promise<void> {
  const folder = join(generatedFolder, "openapi")
  mkdirSync(folder, { recursive: true })
  const texts = [...(await createOpenApiTexts(files))]
  const imports = texts.map(([path, text], at) => {
    const name = `${path.slice(1).replaceAll("/", "-")}.gz`
    writeFileSync(join(folder, name), gzipSync(text, { level: 9 }))
    return `import text${at} from "./openapi/${name}" with { type: "file" }`
  })
  const rows = texts.map(([path, text], at) => {
    const hash = createHash("sha256").update(text).digest("base64url")
    return `  ["${path}", { hash: "${hash}", gzip: String(text${at}) }],`
  })
  const source = `// Written by scripts/openapi.ts; never edited.
// @ts-nocheck: what \`type: "file"\` imports has no types of its own; the exports below have.
${imports.join("\n")}

/** \`hash\` is the SHA-256 of the text, and \`gzip\` the path of its compressed file. */
export type OpenApiText = { readonly hash: string; readonly gzip: string }

/** The OpenAPI documents and the pages of their reader by the paths that serve them. */
export const openApiTexts: ReadonlyMap<string, OpenApiText> = new Map([
${rows.join("\n")}
])
`
  writeFileSync(join(generatedFolder, "openapi.ts"), source)
}
