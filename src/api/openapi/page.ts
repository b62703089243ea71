import { swagger } from "@elysiajs/swagger"
import { Elysia } from "elysia"

/** The parts of a document that the reader page uses. */
export type OpenApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
}

/** The paths of the files that the reader page loads. */
export type ReaderFiles = { readonly readerJs: string; readonly readerCss: string }

/** The reader page, which loads the document from a path. */
export async function renderReaderPage(
  json: string,
  { info: { title, version, description } }: OpenApiDocument,
  { readerJs, readerCss }: ReaderFiles,
): Promise<string> {
  const plugin = swagger({
    path: "/openapi",
    documentation: { info: { title, version, description } },
    // The page loads the script and the style sheet from this server.
    scalarCDN: readerJs,
    scalarConfig: {
      spec: { url: json },
      customCss: `@import url("${readerCss}");`,
    },
  })
  // Elysia drops the path of URLs whose host has fewer than four letters.
  const response = await new Elysia().use(plugin).handle(new Request("http://localhost/openapi"))
  // Without a type, browsers run the settings element as a script and report an error.
  const settings = `id="api-reference" type="application/json"`
  return (await response.text()).replace(`id="api-reference"`, settings)
}
