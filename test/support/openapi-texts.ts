// Replaces src/gen/openapi.ts in tests whose modules Vite loads, because Vite can't import files.
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../src/gen/openapi")

const fileOf = (path: string) => join(folder, `${path.slice(1).replaceAll("/", "-")}.gz`)

export const openApiTexts = new Map(
  ["/openapi", "/openapi/json", "/openapi/v2", "/openapi/v2/json"].map((path) => [
    path,
    { hash: path, gzip: fileOf(path) },
  ]),
)
