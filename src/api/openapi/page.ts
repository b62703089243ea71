import { swagger } from "@elysiajs/swagger"
import { Elysia } from "elysia"

/** What a document says of itself. */
export type Described = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
}

/** The paths of what the page of the reader loads. */
export type ReaderFiles = { readonly readerJs: string; readonly readerCss: string }

/** The page of the reader, which loads the document at a path. */
export async function readerPage(
  json: string,
  { info: { title, version, description } }: Described,
  { readerJs, readerCss }: ReaderFiles,
): Promise<string> {
  const plugin = swagger({
    path: "/openapi",
    documentation: { info: { title, version, description } },
    // The page names its reader and its style; both are files of ours.
    scalarCDN: readerJs,
    scalarConfig: {
      spec: { url: json },
      customCss: `@import url("${readerCss}");`,
    },
  })
  // Elysia loses the path of hosts with fewer than four letters.
  const made = await new Elysia().use(plugin).handle(new Request("http://localhost/openapi"))
  // Left alone, browsers take the element that holds settings for a script, and complain of it.
  const settings = `id="api-reference" type="application/json"`
  return (await made.text()).replace(`id="api-reference"`, settings)
}
